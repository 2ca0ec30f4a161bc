// Signing in with an access key, from a link or the form here. A key is kept only once the server has accepted it, so
// that a wrong one never replaces one that works. Without a network, the key in a link waits until it can be tried.

import { isKey, keepKey, keyInUse, ownKey, projectsWithKeys } from "./access-keys.js";
import { asProblem, Problem, sentenceOf } from "./api.js";
import { busy, el, fill, notice } from "./dom.js";
import { fetchOwner } from "./owners.js";
import { read, remove, write } from "./storage.js";

const UNTRIED = "dford.untried"; // where the key of a link is stored

/**
 * The view that asks for a key.
 * @param {HTMLElement} main
 * @param {string} project its name, or "" for all of them
 * @param {Problem} problem why a key is needed
 * @param {() => Promise<void>} signedIn
 */
export function show(main, project, problem, signedIn) {
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const button = el("button", { class: "main" }, "Open");
  const enter = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    return busy(button, async () => {
      await tryKey(project || null, input.value.trim());
      await signedIn();
    });
  };
  const why = keyInUse(project) ? sentenceOf(problem)
    : "It is part of your invitation link. The person who runs the server can create one with the command dford key.";
  const others = project ? [] : projectsWithKeys();
  const links = others.flatMap((one) => [el("a", { href: `#/${one}/answer` }, one), " "]);
  fill(main, el("h1", { tabindex: "-1" }, "Enter your access key"), el("p", {}, why),
    el("form", { onsubmit: enter }, el("label", { for: "key" }, "Access key"), input, " ", button),
    others.length ? el("p", {}, "This browser has keys for: ", links) : null);
}

/**
 * @param {string | null} project
 * @param {string} key
 */
export function storeKeyOfLink(project, key) {
  write(UNTRIED, { project, key });
}

// Try the key in a link, if there is one; returns whether that was possible.
export async function tryKeyOfLink() {
  const { project = null, key = null } = read(UNTRIED) ?? {};
  if (key === null) return true;
  try {
    await tryKey(project, key);
  } catch (error) {
    const problem = asProblem(error);
    if (problem.temporary) return false;
    notice(`The key in the link was not accepted. ${problem.sentence}`);
  }
  if (read(UNTRIED)?.key === key) remove(UNTRIED);
  return true;
}

/**
 * If the server accepts a key, keep it for the project it was given for, or else for the one it opens, and go there.
 * @param {string | null} project
 * @param {string} key
 */
async function tryKey(project, key) {
  const me = await ownerOf(key);
  if (me === null) throw new Problem(401, "wrong-key", "This key is not valid: it was mistyped or revoked.");
  if (me.open) return; // the server has no keys yet, so it cannot check this one
  if (project && me.project && me.project !== project)
    throw new Problem(403, "other-project", `It is a key for the project ${me.project}.`);
  await replaceKey(project ?? me.project, key, me);
  if (!me.project && !ownKey(null)) await replaceKey(null, key, me);
  if (!project && me.project) location.replace(`#/${encodeURIComponent(me.project)}/answer`);
}

/**
 * @param {string} key
 * @returns {Promise<Server.Me | null>} null if the key is not valid
 */
async function ownerOf(key) {
  if (!isKey(key)) return null;
  try {
    return await fetchOwner(key);
  } catch (error) {
    if (asProblem(error).status === 401) return null;
    throw error;
  }
}

/**
 * A working key of another person or role is replaced only if the person agrees.
 * @param {string | null} project
 * @param {string} key
 * @param {Server.Me} me
 */
async function replaceKey(project, key, me) {
  const before = ownKey(project);
  const other = before && before !== key ? await ownerOf(before) : null;
  const agreed = !other || (other.name === me.name && other.role === me.role)
    || confirm(`This browser has a key for ${other.name} (${other.role}). Replace it with the key for ${me.name} (${me.role})? The old one will be forgotten.`);
  if (agreed && !keepKey(project, key))
    notice("This browser's storage is full or switched off, so the key cannot be kept.");
}
