// Names of projects, as the server accepts them: they are part of addresses.

import { el } from "./dom.js";

const PATTERN = "[a-z0-9][a-z0-9\\-]{0,63}";

/** @param {string} id */
export function nameInput(id) {
  return el("input", {
    id, type: "text", required: true, pattern: PATTERN, maxlength: 64, autocomplete: "off",
    title: "Lowercase letters, digits and hyphens",
  });
}

/** @param {string} text */
export function validName(text) {
  return text.normalize("NFD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64);
}

/**
 * The same name with the next number at its end.
 * @param {string} name
 */
export function nextName(name) {
  const [, stem, count] = name.match(/^(.*?)(?:-([2-9]|[1-9]\d+))?$/) ?? [];
  const end = `-${Number(count ?? 1) + 1}`;
  return stem.slice(0, 64 - end.length) + end;
}
