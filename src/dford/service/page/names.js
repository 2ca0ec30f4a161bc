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
