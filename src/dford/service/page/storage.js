// The browser's storage. It may be full, damaged or switched off: then reading returns null, and writing returns false.

/** @typedef {"localStorage" | "sessionStorage"} Where shared by all windows of this browser, or of this window only */

/**
 * @param {string} key
 * @param {Where} where
 */
export function readText(key, where = "localStorage") {
  try {
    return globalThis[where].getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {Where} [where]
 * @returns {any} the caller must check it: anything may have been written there
 */
export function read(key, where) {
  try {
    return JSON.parse(readText(key, where) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {Where} [where]
 * @returns {any[]}
 */
export function readList(key, where) {
  const found = read(key, where);
  return Array.isArray(found) ? found.filter(Boolean) : [];
}

/**
 * @param {string} key
 * @param {string} text
 * @param {Where} where
 */
export function writeText(key, text, where = "localStorage") {
  try {
    globalThis[where].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} key
 * @param {unknown} value
 * @param {Where} [where]
 */
export function write(key, value, where) {
  return writeText(key, JSON.stringify(value), where);
}

/**
 * For what is not essential: if there is no room for the new value, the old one is removed too.
 * @param {string} key
 * @param {unknown} value
 */
export function writeForThisWindow(key, value) {
  if (!write(key, value, "sessionStorage")) remove(key, "sessionStorage");
}

/**
 * @param {string} key
 * @param {Where} where
 */
export function remove(key, where = "localStorage") {
  try {
    globalThis[where].removeItem(key);
  } catch { /* without storage, there is nothing to remove */ }
}

/** @param {string} prefix */
export function keysWith(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix)).sort();
  } catch {
    return [];
  }
}
