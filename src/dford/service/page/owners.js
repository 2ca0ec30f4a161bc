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
 * The name of the owner; "" if the server has no keys, and null if it is not known.
 * @param {Partial<Server.Me>} me
 */
export const personOf = (me) => (me.open ? "" : me.name ?? null);

/**
 * The key in use, and the person whose it is.
 * @param {string} project
 */
export async function signedIn(project) {
  const secret = keyInUse(project);
  return { secret, person: personOf(knownOwner(secret) ?? (await fetchOwner(secret))) };
}
