// Where the page begins.

import { byId } from "./dom.js";
import { Router } from "./router.js";

const router = new Router();
byId("skip-link").addEventListener("click", (event) => {
  event.preventDefault(); // the router uses the address
  byId("main").focus();
});
addEventListener("hashchange", () => router.route());
addEventListener("pageshow", ({ persisted }) => { if (persisted) router.route(); }); // questions were released on leaving
navigator.serviceWorker?.register("/worker.js").catch(() => {}); // without one, only a reload needs the network
router.sendStored();
router.route();
