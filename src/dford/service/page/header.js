// What surrounds every view: the links to the others, and whose key is in use.

import { forgetKey, keyInUse } from "./access-keys.js";
import { byId, el, fill } from "./dom.js";

/** @typedef {"answer" | "watch" | "setup"} ViewName */

export const VIEW_NAMES = { answer: "Answer", watch: "Watch", setup: "Set up" };

/** @type {Record<string, ViewName[]>} */
const VIEWS_OF_ROLE = { admin: ["answer", "watch", "setup"], answer: ["answer", "watch"], predict: ["watch"] };

/**
 * @param {string} project
 * @param {ViewName | null} current
 * @param {string} role
 */
export function showLinks(project, current, role) {
  byId("project-name").textContent = project;
  const views = project ? VIEWS_OF_ROLE[role] ?? [] : [];
  const link = (/** @type {ViewName} */ view) => el("a", {
    href: `#/${encodeURIComponent(project)}/${view}`, "aria-current": view === current ? "page" : null,
  }, VIEW_NAMES[view]);
  fill(byId("views"), views.map(link));
}

/**
 * @param {string} project
 * @param {Server.Me} me
 * @param {() => boolean} hasUnsent whether answers are waiting in this browser
 * @param {() => void} forgotten
 */
export function showKey(project, me, hasUnsent, forgotten) {
  if (!keyInUse(project)) return;
  const forget = () => {
    if (hasUnsent() && !confirm(`Some answers have not been sent yet. They wait in this browser until ${me.name} signs in here again. Forget the key anyway?`)) return;
    forgetKey(project);
    forgotten();
  };
  fill(byId("who"), me.name ? `Signed in as ${me.name} ` : null,
    el("button", { type: "button", onclick: forget }, "Forget this key"));
}
