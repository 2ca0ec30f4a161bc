// Requests to the server, and what may go wrong with them.

import { keyInUse } from "./access-keys.js";

export class Problem extends Error {
  /**
   * @param {number} status of the response; 0 if there was none
   * @param {string} code for programs
   * @param {string} sentence for people
   * @param {number} retryAfter seconds
   */
  constructor(status, code, sentence, retryAfter = 0) {
    super(sentence);
    this.status = status;
    this.code = code;
    this.sentence = sentence;
    this.retryAfter = retryAfter;
  }

  // Whether the same request may succeed later: there is no network, something else replied in place of the server, or
  // the server is busy or gone for the moment.
  get temporary() {
    return [0, 408, 429].includes(this.status) || this.status >= 500 || this.code === "foreign-reply";
  }

  /**
   * Milliseconds to wait before the next attempt: longer for a wrong key, as these are counted, and a reload asks anew.
   * @param {number} least
   */
  pause(least) {
    return Math.max(1000 * this.retryAfter, this.status === 401 ? 30_000 : least);
  }

  // For people, without a full stop.
  get words() {
    if (this.code === "catching-up") {
      const far = /[\d,]+ of [\d,]+ answers/.exec(this.sentence)?.[0];
      return far ? `The server is still learning from earlier answers (${far} so far)` : "The server is getting ready";
    }
    if (this.code === "no-key") return "Your access key is not valid, or was revoked";
    return this.sentence.replace(/[.\s]+$/, "");
  }
}

/** @param {unknown} error */
export const sentenceOf = (error) => (error instanceof Problem ? `${error.words}.` : String(error));

/**
 * Only for problems of the server or the network: anything else is an error in this page, and rethrown.
 * @param {unknown} error
 */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  throw error;
}

/**
 * What arrived is not a reply from the server.
 * @param {number} status
 */
export function foreignReply(status) {
  return new Problem(status, "foreign-reply", `A proxy or a sign-in page answered instead of the server (status ${status}).`);
}

export const newIdempotencyKey = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

// One key for each distinct request, so that one sent again after a lost response is applied once.
export class IdempotencyKeys {
  constructor() {
    /** @type {Map<string, string>} */
    this.keys = new Map();
  }

  /** @param {string} request */
  of(request) {
    const key = this.keys.get(request) ?? newIdempotencyKey();
    this.keys.set(request, key);
    return key;
  }
}

/**
 * @param {string} project
 * @param {string} path
 */
export const projectPath = (project, path) => `/projects/${encodeURIComponent(project)}${path}`;

let skew = 0; // milliseconds by which this computer's clock is ahead of the server's, according to its latest response
export const serverTime = () => (Date.now() - skew) / 1000;

/**
 * @typedef {object} Options
 * @property {string | null} [project] whose access key to send
 * @property {string | null} [secret] another access key
 * @property {unknown} [json]
 * @property {string} [text] CSV
 * @property {Blob} [file] sent as it is
 * @property {string} [key] the Idempotency-Key
 * @property {"json" | "blob"} [read]
 * @property {boolean} [keepalive] sent even if the page is left
 */

/**
 * @param {"GET" | "POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {Options} options
 * @returns {Promise<any>} the reply; failures are thrown as a Problem
 */
export async function send(method, path, options = {}) {
  const { project = null, secret = keyInUse(project), json, text, file, key, read = "json", keepalive = false } = options;
  /** @type {Record<string, string>} */
  const headers = {};
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (text !== undefined) headers["Content-Type"] = "text/csv";
  if (file) headers["Content-Type"] = "application/octet-stream";
  if (key) headers["Idempotency-Key"] = key;
  const body = json !== undefined ? JSON.stringify(json) : file ?? text;
  const isLong = file || text !== undefined || read === "blob"; // files take longer
  const signal = AbortSignal.timeout(isLong ? 150_000 : 30_000);
  let response, reply;
  try {
    response = await fetch(path, { method, headers, body, keepalive, cache: "no-store", signal });
    reply = await (response.ok && response.status !== 204 ? response[read]() : response.text());
  } catch (error) {
    if (response && error instanceof SyntaxError) throw foreignReply(response.status); // it arrived, but is not JSON
    throw new Problem(0, "no-network", "The server cannot be reached.");
  }
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (date) skew = Date.now() - date;
  if (!response.ok) throw refusal(response, reply);
  if (response.headers.get("Content-Type")?.startsWith("text/html")) throw foreignReply(response.status);
  return reply;
}

/**
 * @param {Response} response
 * @param {string} reply
 */
function refusal({ status, headers }, reply) {
  try {
    const { code, sentence } = JSON.parse(reply);
    const asText = String(sentence).replace(/^./, (first) => first.toUpperCase());
    if (code && sentence) return new Problem(status, code, asText, Number(headers.get("Retry-After")) || 0);
  } catch { /* not in the form of the server's own refusals */ }
  return foreignReply(status);
}

/**
 * @param {string} project
 * @param {string} file
 */
export async function download(project, file) {
  const content = await send("GET", projectPath(project, `/${file}`), { project, read: "blob" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = `${project}-${file}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
