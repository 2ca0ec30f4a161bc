// Keys from links and forms. One is kept only once the server has accepted it, so that a wrong one never takes the place
// of one that works. Without a network it waits apart until it can be tried.

import { isKey, keepKey, ownKey, Problem, send } from "./api.js";
import { notice } from "./dom.js";
import { read, remove, write } from "./storage.js";

const APART = "dford.untried";
const INVALID = new Problem(401, "wrong-key", "This key is not valid. It is mistyped, or it was revoked.");

export function setApart(project, key) {
  write(APART, { project, key });
}

// Try the key of a link; whether that could be done.
export async function tryApart() {
  const { project = null, key = null } = read(APART) ?? {};
  if (key === null) return true;
  try {
    await tryKey(project, key);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.passing) return false;
    notice(`The key in the link was not accepted. ${problem.sentence}`);
  }
  if (read(APART)?.key === key) remove(APART);
  return true;
}

// Keep a key, if the server accepts it, for the project that it was given for, or else for what it opens, and go there.
export async function tryKey(project, key) {
  const me = await whose(key);
  if (me === null) throw INVALID;
  if (me.open) return; // the server has no keys yet, so nothing is known of this one
  if (project && me.project && me.project !== project)
    throw new Problem(403, "other-project", `It is a key for the project ${me.project}.`);
  await replace(project ?? me.project, key, me);
  if (!me.project && !ownKey(null)) await replace(null, key, me);
  if (!project && me.project) location.replace(`#/${encodeURIComponent(me.project)}/answer`);
}

async function whose(key) {
  if (!isKey(key)) return null;
  try {
    return await send("GET", "/me", { secret: key });
  } catch (problem) {
    if (problem.status === 401) return null;
    throw problem;
  }
}

// A key that still works, and is another person's or role's, is given up only if the person says so.
async function replace(project, key, me) {
  const before = ownKey(project);
  const other = before && before !== key ? await whose(before) : null;
  const same = !other || (other.name === me.name && other.role === me.role);
  const question = () => `This browser has a key of ${other?.name} (${other?.role}). Replace it with the key of ${me.name} (${me.role})? The old one will be forgotten.`;
  if ((same || confirm(question())) && !keepKey(project, key))
    notice("This browser's storage is full or switched off, so the key cannot be kept.");
}
