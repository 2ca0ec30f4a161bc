// The access keys that this browser keeps: one for the whole server, and one for each project that has its own.

import { keysWith, readText, remove, writeText } from "./storage.js";

const SERVER = "dford.key";
const PROJECT = "dford.key.";

/** @typedef {string | null | undefined} ProjectName nothing for the whole server */

/** @param {ProjectName} project */
const storageKey = (project) => (project ? PROJECT + project : SERVER);

/**
 * Whether a header can carry this key.
 * @param {string | null} text
 * @returns {text is string}
 */
export const isKey = (text) => /^[!-~]+$/.test(text ?? "");

/** @param {ProjectName} project */
export const ownKey = (project) => [readText(storageKey(project))].find(isKey) ?? null;

/**
 * @param {ProjectName} project
 * @param {string} key
 */
export const keepKey = (project, key) => writeText(storageKey(project), key);

/** @param {ProjectName} project */
export const keyInUse = (project) => (project && ownKey(project)) || ownKey(null);

/**
 * Forget the key in use; if the project has its own key, the server-wide one stays.
 * @param {ProjectName} project
 */
export function forgetKey(project) {
  remove(storageKey(project && ownKey(project) ? project : null));
}

export const projectsWithKeys = () => keysWith(PROJECT).map((key) => key.slice(PROJECT.length));
