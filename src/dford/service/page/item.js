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
 * The texts and the other values of an item, without those that are missing.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
function contents(description, item) {
  const names = textColumns(description);
  const given = Object.entries(item).filter(([, value]) => value !== null && String(value).trim() !== "");
  return {
    texts: given.filter(([name]) => names.includes(name)).map(([, value]) => String(value)),
    others: given.filter(([name]) => !names.includes(name)),
  };
}

/**
 * An item in a few words: its texts, or else its other values.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
export function summary(description, item) {
  const { texts, others } = contents(description, item);
  const words = texts.join(" · ") || others.map((pair) => pair.join(" ")).join(", ");
  return shorten(words.replace(/\s+/g, " ").trim(), 160) || "Empty item";
}

/**
 * At the end of a word, if one ends near, and never within a character.
 * @param {unknown} value
 * @param {number} length
 */
export function shorten(value, length) {
  const text = String(value ?? "");
  return text.length > length ? `${text.slice(0, length).replace(/[\s,;:]+\S{0,20}$|[\ud800-\udbff]$/, "")}…` : text;
}

/**
 * @param {Element} box
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
export function show(box, description, item) {
  const { texts, others } = contents(description, item);
  fill(box,
    texts.map((text) => el("p", { class: "text", dir: "auto" }, text)),
    others.length ? el("dl", { class: texts.length ? "" : "alone" }, others.map(([name, value]) =>
      el("div", {}, el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, String(value))))) : null,
    texts.length || others.length ? null : el("p", { class: "nothing" }, "This item is empty: it has no text and no values."));
  box.scrollTop = 0;
}
