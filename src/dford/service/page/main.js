// Which view is shown, for which project, and whether everything has reached the server.

import { keepKey, keyOf, send } from "./api.js";
import { busy, byId, el, fill } from "./dom.js";
import * as answer from "./answer.js";
import * as home from "./home.js";
import { Project } from "./project.js";
import * as setup from "./setup.js";
import * as watch from "./watch.js";

const VIEWS = { answer, watch, setup };
const NAMES = { answer: "Answer", watch: "Watch", setup: "Set up" };
let project = null;
let stop = () => {};
let turn = 0;

// #/ · #/new · #/name/view; a key in the link is kept, and taken out of the address
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, view] = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const key = new URLSearchParams(query ?? "").get("key");
  if (key !== null) {
    keepKey(name || null, key);
    history.replaceState(null, "", `#/${path}`);
  }
  const begins = name === "new" && view === undefined; // a project may be called new too
  return { name: begins ? "" : name, view: Object.hasOwn(VIEWS, view ?? "") ? view : "answer", begins };
}

async function route() {
  const { name, view, begins } = place();
  const mine = ++turn;
  stop();
  stop = () => {};
  if (project && project.name !== name) {
    project.close();
    project = null;
  }
  fill(byId("main"));
  try {
    if (name === "") {
      links("", "");
      const done = await (begins ? setup.showNew : home.show)(byId("main"));
      settle(mine, done);
    } else {
      project ??= opened(name);
      links(name, view, (await me(name)).role);
      await project.load();
      if (mine !== turn) return;
      settle(mine, await VIEWS[view].show(byId("main"), project));
    }
  } catch (problem) {
    if (mine === turn) trouble(name, problem);
  }
  if (mine === turn) {
    network();
    byId("main").querySelector("h1")?.focus();
    document.title = [NAMES[name && view], name, "dford"].filter(Boolean).join(" · ");
  }
}

function settle(mine, done) {
  if (mine === turn) stop = done ?? stop;
  else done?.();
}

function opened(name) {
  const one = new Project(name);
  one.outbox.addEventListener("change", network);
  one.addEventListener("state", network);
  return one;
}

async function me(name) {
  const shelf = `dford.me.${name}`;
  try {
    const found = await send("GET", "/me", { project: name });
    localStorage.setItem(shelf, JSON.stringify(found));
    return found;
  } catch (problem) {
    if (problem.passing) return JSON.parse(localStorage.getItem(shelf) ?? '{"role":"answer"}');
    throw problem;
  }
}

function links(name, view, role) {
  byId("project-name").textContent = name;
  const shown = !name ? [] : Object.keys(VIEWS).filter((one) => one === "watch" || (one === "setup" ? role === "admin" : role !== "predict"));
  fill(byId("views"), shown.map((one) =>
    el("a", { href: `#/${encodeURIComponent(name)}/${one}`, "aria-current": one === view ? "page" : null }, NAMES[one])));
}

// Where the answers are: the one line that must always be true.
function network() {
  const line = byId("network");
  if (!project) return fill(line);
  const count = project.outbox.waiting().length;
  const answers = count === 1 ? "1 answer waits" : `${count} answers wait`;
  const trouble = project.outbox.trouble;
  let text = "Everything is saved";
  if (trouble && count && !trouble.passing) text = `${answers} in this browser: ${trouble.sentence}`;
  else if (trouble && count && trouble.status) text = `The server is busy: ${answers} in this browser, and will be sent`;
  else if (!navigator.onLine || (trouble && count) || !project.reachable)
    text = count ? `No connection: ${answers} in this browser, and will be sent` : "No connection";
  else if (count) text = count > 2 ? `Sending ${count} answers` : "Everything is saved or being sent";
  line.classList.toggle("warning", text.startsWith("No") || Boolean(trouble && count));
  if (line.textContent !== text) line.textContent = text;
}

function trouble(name, problem) {
  const main = byId("main");
  if (problem.status === 401 || problem.status === 403) return askForKey(main, name, problem);
  fill(main, el("h1", { tabindex: "-1" }, problem.status === 0 ? "No connection" : "This cannot be shown"),
    el("p", {}, problem.sentence ?? String(problem)),
    el("p", {}, el("button", { type: "button", onclick: route }, "Try again"), " ", el("a", { href: "#/" }, "All projects")));
  if (!problem.sentence) throw problem;
}

function askForKey(main, name, problem) {
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const button = el("button", { class: "main" }, "Open");
  const enter = async (event) => {
    event.preventDefault();
    keepKey(name || null, input.value.trim());
    await busy(button, route);
  };
  const why = keyOf(name || null) ? problem.sentence : "This server wants a key. It came with your invitation, or from dford key.";
  fill(main, el("h1", { tabindex: "-1" }, "A key, please"), el("p", {}, why),
    el("form", { onsubmit: enter }, el("label", { for: "key" }, "Key"), input, button));
}

byId("skip-link").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the router's
  byId("main").focus();
});
addEventListener("hashchange", route);
addEventListener("online", network);
addEventListener("offline", network);
navigator.serviceWorker?.register("/worker.js").catch(() => {}); // without one, only a reload needs the network
route();
