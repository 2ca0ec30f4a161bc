// Whose an access key is, asked of the server once for each key while this page is open.

import { keyInUse } from "./access-keys.js";
import { send } from "./api.js";

/** @type {Map<string | null, Server.Me>} */
const owners = new Map();

/** @param {string | null} secret */
export async function fetchOwner(secret) {
  const me = /** @type {Server.Me} */ (await send("GET", "/me", { secret }));
  owners.set(secret, me);
  return me;
}

/** @param {string | null} secret */
export const knownOwner = (secret) => owners.get(secret);

/**
 * The key in use, and the name of the person whose it is.
 * @param {string} project
 */
export async function signedIn(project) {
  const secret = keyInUse(project);
  return { secret, name: (knownOwner(secret) ?? (await fetchOwner(secret))).name };
}
