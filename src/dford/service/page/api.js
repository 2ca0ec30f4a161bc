// Requests to the server. A key is sent as a header, and kept in this browser alone.

export class Problem extends Error {
  constructor(status, code, sentence, retryAfter = 0) {
    super(sentence);
    Object.assign(this, { status, code, sentence, retryAfter });
  }

  // Whether the same request may do better later: no network, or a server that is busy or gone for the moment.
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const kept = (project) => (project ? `dford.key.${project}` : "dford.key");

export function keepKey(project, key) {
  if (key) localStorage.setItem(kept(project), key);
  else localStorage.removeItem(kept(project));
}

export function keyOf(project) {
  return (project && localStorage.getItem(kept(project))) || localStorage.getItem(kept(null));
}

export const inside = (project, path) => `/projects/${encodeURIComponent(project)}${path}`;

// `project` says whose key to send.
export async function send(method, path, { project = null, json, text, key, read = "json" } = {}) {
  const headers = {};
  const secret = keyOf(project);
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  if (text !== undefined) headers["Content-Type"] = "text/csv";
  if (key) headers["Idempotency-Key"] = key;
  const body = json !== undefined ? JSON.stringify(json) : text;
  let response;
  try {
    response = await fetch(path, { method, headers, body, cache: "no-store", signal: AbortSignal.timeout(30_000) });
    if (response.ok) return response.status === 204 ? null : await response[read]();
  } catch {
    throw new Problem(0, "no-network", "The server cannot be reached.");
  }
  const problem = await response.json().catch(() => ({}));
  const sentence = problem.sentence ?? `The server answered ${response.status}.`;
  throw new Problem(response.status, problem.code ?? "", sentence, Number(response.headers.get("Retry-After") ?? 0));
}

export async function download(project, file) {
  const content = await send("GET", inside(project, `/${file}`), { project, read: "blob" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = `${project}-${file}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
