// An item as people see it: its texts, and its other values by name.

import { el, fill } from "./dom.js";

/** @typedef {Server.QuestionOut["shown"]} Item its values by column */

/**
 * The columns that are read by people, whether they are learned from or not.
 * @param {Server.ProjectOut} description
 */
function textColumns({ columns }) {
  return (columns ?? []).filter(({ kind }) => kind === "text" || kind === "words").map(({ name }) => name);
}

/**
 * An item in a few words.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
export function summary(description, item) {
  const text = textColumns(description).map((name) => item[name]).find(Boolean);
  return shorten(text ?? Object.entries(item).map((pair) => pair.join(" ")).join(", "), 160);
}

/**
 * @param {unknown} value
 * @param {number} length
 */
export function shorten(value, length) {
  const text = String(value ?? "");
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/**
 * @param {Element} box
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
export function show(box, description, item) {
  const names = textColumns(description);
  const given = Object.entries(item).filter(([, value]) => value !== null && value !== "");
  const texts = given.filter(([name]) => names.includes(name));
  const others = given.filter(([name]) => !names.includes(name));
  fill(box,
    texts.map(([, value]) => el("p", { class: "text", dir: "auto" }, String(value))),
    others.length ? el("dl", { class: texts.length ? "" : "alone" }, others.map(([name, value]) =>
      el("div", {}, el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, String(value))))) : null);
  box.scrollTop = 0;
}
