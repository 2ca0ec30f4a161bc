// Which view is shown, for which project, and who is looking at it.

import { forgetKey, inside, keyOf, Problem, send } from "./api.js";
import { busy, byId, el, fill, notice } from "./dom.js";
import * as answer from "./answer.js";
import * as home from "./home.js";
import { setApart, tryApart, tryKey } from "./keys.js";
import { Outbox } from "./outbox.js";
import { Project } from "./project.js";
import * as setup from "./setup.js";
import * as status from "./status.js";
import { keysWith, read, write } from "./storage.js";
import * as watch from "./watch.js";

const VIEWS = { answer, watch, setup };
const NAMES = { answer: "Answer", watch: "Watch", setup: "Set up" };
const SEEN_BY = { answer: ["admin", "answer"], watch: ["admin", "answer", "predict"], setup: ["admin"] }; // roles
const PAUSE = 3000; // milliseconds between two attempts to show what cannot be shown
const outboxes = new Map(); // by project: answers are sent whichever project is looked at
let project = null;
let stop = () => {};
let turn = 0;
let trying = false;

// #/ · #/new · #/name/view; a key in the link is taken out of the address, and tried
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, view] = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const key = new URLSearchParams(query ?? "").get("key");
  if (key !== null) {
    setApart(name || null, key);
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
  fill(byId("who"));
  try {
    if (!(await tryApart())) tryLater();
    const found = await me(name);
    if (mine !== turn) return;
    who(name, found);
    links(name, view, found.role);
    if (name === "") settle(mine, await (begins ? setup.showNew : home.show)(byId("main"), found));
    else {
      project ??= opened(name);
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
  const one = new Project(name, outbox(name));
  one.addEventListener("state", network);
  return one;
}

function outbox(name) {
  if (!outboxes.has(name)) {
    outboxes.set(name, new Outbox(name));
    outboxes.get(name).addEventListener("change", network);
  }
  return outboxes.get(name);
}

function network() {
  status.show([...outboxes.values()], project);
}

// Work every few seconds, until it says that it is done.
function repeat(work) {
  setTimeout(async () => { if (!(await work())) repeat(work); }, PAUSE);
}

// A key that could not be tried yet.
function tryLater() {
  if (trying) return;
  trying = true;
  notice("The key in the link will be checked as soon as the server can be reached.", 8);
  repeat(async () => {
    trying = !(await tryApart());
    if (!trying) route();
    return !trying;
  });
}

async function me(name) {
  const shelf = `dford.me.${name}`;
  try {
    const found = await send("GET", "/me", { project: name });
    write(shelf, found);
    return found;
  } catch (problem) {
    if (problem.passing && name) return read(shelf) ?? { role: "answer" };
    throw problem;
  }
}

function who(name, found) {
  const waits = () => [...outboxes.values()].some((one) => one.waiting().length);
  const forget = () => {
    if (waits() && !confirm("Some answers have not been sent yet. Without this key they may not be accepted. Forget it all the same?")) return;
    forgetKey(name);
    route();
  };
  if (keyOf(name)) fill(byId("who"), found.name ? `Signed in as ${found.name} ` : null, el("button", { type: "button", onclick: forget }, "Forget this key"));
}

function links(name, view, role) {
  byId("project-name").textContent = name;
  const shown = name ? Object.keys(VIEWS).filter((one) => SEEN_BY[one].includes(role)) : [];
  fill(byId("views"), shown.map((one) =>
    el("a", { href: `#/${encodeURIComponent(name)}/${one}`, "aria-current": one === view ? "page" : null }, NAMES[one])));
}

function trouble(name, problem) {
  const main = byId("main");
  if (problem.status === 401 || problem.status === 403) return askForKey(main, name, problem);
  const title = problem.status === 0 ? "No connection" : problem.passing ? "One moment" : "This page cannot be shown";
  const why = el("p", { role: "status" }, problem.words ? `${problem.words}.` : String(problem));
  fill(main, el("h1", { tabindex: "-1" }, title), why,
    problem.passing ? el("p", {}, "This page tries again automatically.") : null,
    el("p", {}, el("button", { type: "button", onclick: route }, "Try again"), " ", el("a", { href: "#/" }, "All projects")));
  if (problem.passing) waitFor(name, why);
  else if (!(problem instanceof Problem)) throw problem;
}

// Route again once the server can show it; until then say what it waits for.
function waitFor(name, why) {
  const mine = turn;
  repeat(async () => {
    if (mine !== turn) return true;
    try {
      await (name ? send("GET", inside(name, "/state"), { project: name }) : send("GET", "/me"));
    } catch (problem) {
      if (problem.passing) {
        if (why.textContent !== `${problem.words}.`) why.textContent = `${problem.words}.`;
        return false;
      }
    }
    if (mine === turn) route();
    return true;
  });
}

function askForKey(main, name, problem) {
  const input = el("input", { id: "key", type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const button = el("button", { class: "main" }, "Open");
  const enter = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      await tryKey(name || null, input.value.trim());
      await route();
    });
  };
  const why = !keyOf(name) ? "It is part of your invitation link. Whoever runs the server can make one with the command dford key." : `${problem.words}.`;
  links(name, "", "none");
  const opens = name ? [] : keysWith("dford.key.").map((key) => key.slice("dford.key.".length));
  fill(main, el("h1", { tabindex: "-1" }, "Enter your access key"), el("p", {}, why),
    el("form", { onsubmit: enter }, el("label", { for: "key" }, "Access key"), input, " ", button),
    opens.length ? el("p", {}, "This browser has keys for: ", opens.flatMap((one) => [el("a", { href: `#/${one}/answer` }, one), " "])) : null);
}

byId("skip-link").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the router's
  byId("main").focus();
});
addEventListener("hashchange", route);
addEventListener("pageshow", (event) => { if (event.persisted) route(); }); // its questions were released when it was left
navigator.serviceWorker?.register("/worker.js").catch(() => {}); // without one, only a reload needs the network
for (const key of [...keysWith("dford.out."), ...keysWith("dford.refused.")]) outbox(key.split(/[./]/)[2]).flush();
route();
