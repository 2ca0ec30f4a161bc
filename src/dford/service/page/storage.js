// The browser's storage. It may be full, damaged or switched off: reading gives null then, and writing says whether it
// was done.

export function readText(key, where = "localStorage") {
  try {
    return globalThis[where].getItem(key);
  } catch {
    return null;
  }
}

export function read(key, where) {
  try {
    return JSON.parse(readText(key, where));
  } catch {
    return null;
  }
}

export function readList(key, where) {
  const found = read(key, where);
  return Array.isArray(found) ? found.filter(Boolean) : [];
}

export function writeText(key, text, where = "localStorage") {
  try {
    globalThis[where].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export const write = (key, value, where) => writeText(key, JSON.stringify(value), where);

export function remove(key, where = "localStorage") {
  try {
    globalThis[where].removeItem(key);
  } catch { /* where nothing can be stored, nothing is */ }
}

export function keysWith(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix)).sort();
  } catch {
    return [];
  }
}
