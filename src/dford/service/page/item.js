// An item as people see it: its images, its texts, and its other values by name.

import { el, fill } from "./dom.js";

/** @typedef {Server.QuestionOut["shown"]} Item its values by column */

const TEXTS = ["text", "words", "shown"]; // kinds that people read, whether or not they are learned from
const IMAGES = ["image"];

/**
 * The names of the columns of some kinds.
 * @param {Server.ProjectOut} description
 * @param {string[]} kinds
 */
function columnsOf({ columns }, kinds) {
  return (columns ?? []).filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
}

/** @param {Server.ProjectOut} description */
export const hasImages = (description) => columnsOf(description, IMAGES).length > 0;

/** @typedef {{ column: string, file: string, alt: string }} ImageOf an image of an item, and its name */

/**
 * The server stores an upload under a name it chooses; the original name is the item's name.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 * @returns {ImageOf[]}
 */
export function imagesOf(description, item) {
  return columnsOf(description, IMAGES).filter((column) => item[column]).map((column, _, { length }) => {
    const file = String((length === 1 && item.name) || item[column]);
    const words = file.replace(/^.*[/\\]/, "").replace(/\.[^.]*$/, "").replace(/[\s_.-]+/g, " ").trim();
    return { column, file, alt: words || "Image" };
  });
}

/**
 * The texts and the other values of an item, without missing ones.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
function contents(description, item) {
  const [names, imageNames, vectorNames] = [TEXTS, IMAGES, ["vector"]].map((kinds) => columnsOf(description, kinds));
  const given = Object.entries(item).filter(([, value]) => value !== null && String(value).trim() !== "");
  return {
    texts: given.filter(([name]) => names.includes(name)).map(([, value]) => String(value)),
    others: given.filter(([name]) => !names.includes(name) && !imageNames.includes(name))
      .map(([name, value]) => [name, vectorNames.includes(name) ? shorten(value, 80) : String(value)]),
  };
}

/**
 * An item in a few words: its texts, or else the names of its images and its other values.
 * @param {Server.ProjectOut} description
 * @param {Item} item
 */
export function summary(description, item) {
  const { texts, others } = contents(description, item);
  const called = imagesOf(description, item).map(({ alt }) => alt);
  const words = texts.join(" · ") || [...called, ...others.map((pair) => pair.join(" "))].join(", ");
  return shorten(words.replace(/\s+/g, " ").trim(), 160) || "Empty item";
}

/**
 * Shortened at the end of a word, if one is near, and never inside a character.
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
 * @param {Element[]} pictures of its images
 */
export function show(box, description, item, pictures = []) {
  const { texts, others } = contents(description, item);
  fill(box, pictures,
    texts.map((text) => el("p", { class: "text", dir: "auto" }, text)),
    others.length ? el("dl", { class: texts.length ? "" : "alone" }, others.map(([name, value]) =>
      el("div", {}, el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, value)))) : null,
    texts.length || others.length || pictures.length ? null : el("p", { class: "nothing" }, "This item is empty: it has no text and no values."));
  box.scrollTo(0, 0);
}
