// Requests to the server. A key is sent as a header, and kept in this browser alone.

import { readText, remove, writeText } from "./storage.js";

export class Problem extends Error {
  constructor(status, code, sentence, retryAfter = 0) {
    super(sentence);
    Object.assign(this, { status, code, sentence, retryAfter });
  }

  // Whether the same request may do better later: no network, something else that answered in the server's place, or a
  // server that is busy or gone for the moment.
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500 || this.code === "foreign-reply";
  }

  // Milliseconds to wait before the next attempt: the server minds wrong keys, and a better one comes with a reload.
  pause(least) {
    return Math.max(1000 * this.retryAfter, this.status === 401 ? 30_000 : least);
  }

  // For people, without a full stop.
  get words() {
    if (this.code === "catching-up") {
      const far = /[\d,]+ of [\d,]+ answers/.exec(this.sentence)?.[0];
      if (far?.endsWith(" of 0 answers")) return "The server is getting ready";
      return `The server is still learning from earlier answers${far ? ` (${far} so far)` : ""}`;
    }
    if (this.status === 401 && this.code === "no-key") return "Your access key is not valid, or was revoked";
    return this.sentence.replace(/[.\s]+$/, "").replace(/^./, (first) => first.toUpperCase());
  }
}

// What came is no reply of the server.
export const foreign = (status) => new Problem(status, "foreign-reply", `A proxy or a sign-in page answered instead of the server (status ${status}).`);

const place = (project) => (project ? `dford.key.${project}` : "dford.key");

export const isKey = (text) => /^[!-~]+$/.test(text ?? ""); // what a header may carry

export const ownKey = (project) => [readText(place(project))].find(isKey) ?? null;
export const keepKey = (project, key) => writeText(place(project), key);
export const keyOf = (project) => (project && ownKey(project)) || ownKey(null);

// The one that is in use; the server-wide key stays where the project has one of its own.
export function forgetKey(project) {
  remove(place(project && ownKey(project) ? project : null));
}

export const newKey = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

// Idempotency keys: one for each different request. Sent again after a lost response, it is done once.
export class Repeats {
  keys = new Map();

  key(request) {
    if (!this.keys.has(request)) this.keys.set(request, newKey());
    return this.keys.get(request);
  }
}

export const inside = (project, path) => `/projects/${encodeURIComponent(project)}${path}`;

let skew = 0; // milliseconds that this computer's clock is ahead of the server's
export const serverTime = () => (Date.now() - skew) / 1000;

// `project` says whose key to send; `secret` is another one. `key` is the Idempotency-Key.
export async function send(method, path, { project = null, secret = keyOf(project), json, text, key, read = "json", keepalive = false } = {}) {
  const headers = {};
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (text !== undefined) headers["Content-Type"] = "text/csv";
  if (key) headers["Idempotency-Key"] = key;
  const body = json !== undefined ? JSON.stringify(json) : text;
  const seconds = text !== undefined || read === "blob" ? 150 : 30; // files take longer
  let response, reply;
  try {
    response = await fetch(path, { method, headers, body, keepalive, cache: "no-store", signal: AbortSignal.timeout(1000 * seconds) });
    reply = await (response.ok && response.status !== 204 ? response[read]() : response.text());
  } catch (error) {
    if (error instanceof SyntaxError) throw foreign(response.status); // it came, and is no JSON
    throw new Problem(0, "no-network", "The server cannot be reached.");
  }
  const date = Date.parse(response.headers.get("Date"));
  if (date) skew = Date.now() - date;
  if (response.ok) {
    if (response.headers.get("Content-Type")?.startsWith("text/html")) throw foreign(response.status);
    return reply;
  }
  throw refusal(response, reply);
}

function refusal(response, reply) {
  try {
    const { code, sentence } = JSON.parse(reply);
    if (code && sentence) return new Problem(response.status, code, sentence, Number(response.headers.get("Retry-After")) || 0);
  } catch { /* not of the one shape that the server's own refusals have */ }
  return foreign(response.status);
}

export async function download(project, file) {
  const content = await send("GET", inside(project, `/${file}`), { project, read: "blob" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = `${project}-${file}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
