// Caches the page itself, so that a reload without a network still shows it. Nothing else is cached: requests about
// projects go straight to the server.

const FILES = ["access-keys.js", "answer.js", "api.js", "asking.js", "chart.js", "contested.js", "csv.js", "dom.js", "header.js", "home.js",
  "icon.svg", "image-files.js", "images.js", "invitations.js", "item.js", "levels-editor.js", "main.js", "names.js",
  "new-project.js", "outbox.js", "owners.js", "people.js", "picture.js", "progress.js", "project.js", "questions.js", "reading.js",
  "recent-acts.js", "router.js", "scale.js", "setup.js", "sign-in.js", "status.js", "storage.js", "style.css",
  "upload.js", "watch.js", "zoom.js"].map((name) => `/page/${name}`);
const CACHE = "dford";

/** @typedef {ExtendableEvent & { addRoutes?: (route: object) => Promise<void> }} InstallEvent not everywhere yet */

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", (/** @type {InstallEvent} */ event) => {
  // bypass this worker: Chromium drops requests sent while a page is being left if they have to wake a worker
  event.addRoutes?.({ condition: { urlPattern: "/projects/*" }, source: "network" });
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(["/", ...FILES])).then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || !(pathname === "/" || FILES.includes(pathname))) return;
  event.respondWith(fromServerOrCache(event.request, pathname));
});

/**
 * From the server or, if it cannot be reached or a proxy replies in its place, from the cache.
 * @param {Request} request
 * @param {string} pathname
 */
async function fromServerOrCache(request, pathname) {
  const cache = await caches.open(CACHE);
  /** @type {Response | Error} */
  const response = await fetch(request).catch((error) => error);
  const cached = () => cache.match(pathname);
  if (response instanceof Error) {
    const before = await cached();
    if (before) return before;
    throw response;
  }
  if (!response.ok || !response.headers.has("Content-Security-Policy")) // which all of the server's own responses have
    return (await cached()) ?? response;
  await cache.put(pathname, response.clone());
  return response;
}
