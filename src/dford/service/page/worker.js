// Keeps the page itself, so that a reload without a network still shows it. Nothing else is kept here: requests to the
// server's projects pass by.

const FILES = ["answer.js", "api.js", "chart.js", "count.js", "dom.js", "home.js", "icon.svg", "keys.js", "levels.js",
  "main.js", "outbox.js", "project.js", "questions.js", "scale.js", "setup.js", "status.js", "storage.js", "style.css",
  "upload.js", "watch.js"].map((name) => `/page/${name}`);
const SHELF = "dford";

self.addEventListener("install", (event) => {
  // past this worker altogether: Chromium drops what a page sends while it is left, if that would have to wake a worker
  event.addRoutes?.({ condition: { urlPattern: "/projects/*" }, source: "network" });
  event.waitUntil(caches.open(SHELF).then((shelf) => shelf.addAll(["/", ...FILES])).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || !(pathname === "/" || FILES.includes(pathname))) return;
  event.respondWith(fresh(event.request, pathname));
});

// From the server; where it cannot be reached, or a proxy answers in its place, from here.
async function fresh(request, pathname) {
  const shelf = await caches.open(SHELF);
  const response = await fetch(request).catch((error) => error);
  if (response.ok && response.headers.has("Content-Security-Policy")) { // as all of the server's own have
    await shelf.put(pathname, response.clone());
    return response;
  }
  const before = await shelf.match(pathname);
  if (before) return before;
  if (response instanceof Error) throw response;
  return response;
}
