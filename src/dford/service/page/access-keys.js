// The access keys that this browser keeps: one for the whole server, and one for each project that has its own.

import { keysWith, readText, remove, writeText } from "./storage.js";

const SERVER = "dford.key";
const PROJECT = "dford.key.";

/** @typedef {string | null | undefined} ProjectName nothing for the whole server */

/** @param {ProjectName} project */
const storageKey = (project) => (project ? PROJECT + project : SERVER);

/** @param {string} entry of the storage */
export const isKeyEntry = (entry) => entry === SERVER || entry.startsWith(PROJECT);

/**
 * Whether a header can carry this key.
 * @param {string | null} text
 * @returns {text is string}
 */
export const isKey = (text) => /^[!-~]+$/.test(text ?? "");

/** @type {Map<string, string>} */
const unstored = new Map(); // while this page is open, if the storage is full or switched off

/** @param {ProjectName} project */
export function ownKey(project) {
  const key = storageKey(project);
  return [readText(key), unstored.get(key) ?? null].find(isKey) ?? null;
}

/**
 * Whether this browser keeps the key for the next time; it is used now in any case.
 * @param {ProjectName} project
 * @param {string} key
 */
export function keepKey(project, key) {
  const isStored = writeText(storageKey(project), key);
  if (!isStored) unstored.set(storageKey(project), key);
  return isStored;
}

/** @param {ProjectName} project */
export const keyInUse = (project) => (project && ownKey(project)) || ownKey(null);

/**
 * Forget the key in use; if the project has its own key, the server-wide one stays.
 * @param {ProjectName} project
 */
export function forgetKey(project) {
  const key = storageKey(project && ownKey(project) ? project : null);
  unstored.delete(key);
  remove(key);
}

export const projectsWithKeys = () => keysWith(PROJECT).map((key) => key.slice(PROJECT.length));
