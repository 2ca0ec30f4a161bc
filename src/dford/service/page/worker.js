// Keeps the page itself, so that a reload without a network still shows it. Nothing else is kept here: requests to the
// server's projects pass by.

const FILES = ["answer.js", "api.js", "chart.js", "dom.js", "home.js", "icon.svg", "levels.js", "main.js", "outbox.js",
  "project.js", "scale.js", "setup.js", "style.css", "upload.js", "watch.js"].map((name) => `/page/${name}`);
const SHELF = "dford";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELF).then((shelf) => shelf.addAll(["/", ...FILES])).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || !(pathname === "/" || FILES.includes(pathname))) return;
  event.respondWith(fresh(event.request, pathname));
});

async function fresh(request, pathname) {
  const shelf = await caches.open(SHELF);
  try {
    const response = await fetch(request);
    if (response.ok) await shelf.put(pathname, response.clone());
    return response;
  } catch (error) {
    const before = await shelf.match(pathname);
    if (before) return before;
    throw error;
  }
}
