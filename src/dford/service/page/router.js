// Which view is shown, for which project, and who is looking at it.

import { isKeyEntry, keyInUse } from "./access-keys.js";
import { asProblem, Problem, projectPath, send, sentenceOf } from "./api.js";
import { byId, el, fill, notice, setText } from "./dom.js";
import * as answer from "./answer.js";
import * as header from "./header.js";
import * as home from "./home.js";
import * as newProject from "./new-project.js";
import { Outbox, storedProjects } from "./outbox.js";
import { fetchOwner, knownOwner, personOf } from "./owners.js";
import { Project } from "./project.js";
import * as setup from "./setup.js";
import * as signIn from "./sign-in.js";
import * as status from "./status.js";
import { read, write } from "./storage.js";
import * as watch from "./watch.js";

const VIEWS = { answer, watch, setup };
const PAUSE = 3000; // milliseconds between two attempts to show what cannot be shown

/** @typedef {header.ViewName} ViewName */

// #/ · #/new · #/name/view · #/name/answer?item=7; a key in the link is removed from the address and tried
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, view] = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const said = new URLSearchParams(query ?? "");
  const [key, item] = [said.get("key"), Number(said.get("item")) || null];
  if (key !== null) {
    signIn.storeKeyOfLink(name || null, key);
    history.replaceState(null, "", `#/${path}`);
  }
  const isNew = name === "new" && view === undefined; // a project may be called new too
  const known = /** @type {ViewName} */ (Object.hasOwn(VIEWS, view ?? "") ? view : "answer");
  return { name: isNew ? "" : name, view: known, isNew, item };
}

/**
 * Repeat work every few seconds, until it returns true.
 * @param {() => Promise<boolean>} work
 */
function repeat(work) {
  setTimeout(async () => { if (!(await work())) repeat(work); }, PAUSE);
}

export class Router {
  constructor() {
    /** @type {Map<string, Outbox>} */
    this.outboxes = new Map(); // by project: answers are sent whichever project is open
    /** @type {Project | null} */
    this.project = null;
    this.closeView = () => {};
    this.visit = 0; // increases with every change of address: what arrives for an earlier one is dropped
    this.hasUntriedKey = false;
    this.route = this.route.bind(this);
    this.showStatus = this.showStatus.bind(this);
    addEventListener("storage", ({ key }) => { // another window has another key now, and so has this one
      if (key === null || isKeyEntry(key)) this.route();
    });
  }

  // Send what an earlier visit left in this browser.
  sendStored() {
    for (const project of storedProjects()) this.outbox(project).flush();
  }

  async route() {
    const { name, view, isNew, item } = readAddress();
    const visit = ++this.visit;
    const main = byId("main");
    const place = el("div", { class: "view" }); // for this visit: what arrives too late is not shown
    this.leave(name);
    fill(main, place);
    try {
      if (!(await signIn.tryKeyOfLink())) this.tryKeyLater();
      const me = await this.me(name);
      if (visit !== this.visit) return;
      header.showKey(name, me, () => this.hasUnsent(), this.route);
      header.showLinks(name, view, me.role);
      if (name) await this.showProject(place, visit, name, view, item, me);
      else await (isNew ? newProject.show(place) : home.show(place, me));
    } catch (error) {
      if (visit === this.visit) this.showProblem(name, error);
    }
    if (visit !== this.visit) return;
    this.showStatus();
    main.querySelector("h1")?.focus();
    document.title = [name && header.VIEW_NAMES[view], name, "dford"].filter(Boolean).join(" · ");
  }

  /** @param {string} next the name of the next project */
  leave(next) {
    this.closeView();
    this.closeView = () => {};
    if (this.project && this.project.name !== next) {
      this.project.close();
      this.project = null;
    }
    fill(byId("who"));
  }

  /**
   * @param {HTMLElement} place
   * @param {number} visit
   * @param {string} name
   * @param {ViewName} view
   * @param {number | null} item
   * @param {Partial<Server.Me>} me
   */
  async showProject(place, visit, name, view, item, me) {
    this.project ??= this.open(name);
    this.project.role = me.role ?? "";
    this.project.person = me.open ? undefined : me.name;
    this.project.outbox.sender = personOf(me);
    await this.project.load();
    if (visit !== this.visit) return;
    const close = await VIEWS[view].show(place, this.project, item);
    if (visit === this.visit) this.closeView = close;
    else close();
  }

  /** @param {string} name */
  open(name) {
    const project = new Project(name, this.outbox(name));
    project.addEventListener("state", this.showStatus);
    return project;
  }

  /** @param {string} project */
  outbox(project) {
    let outbox = this.outboxes.get(project);
    if (!outbox) {
      outbox = new Outbox(project);
      outbox.addEventListener("change", this.showStatus);
      this.outboxes.set(project, outbox);
    }
    return outbox;
  }

  hasUnsent() {
    return [...this.outboxes.values()].some((outbox) => outbox.waiting().length);
  }

  showStatus() {
    status.show([...this.outboxes.values()], this.project);
  }

  /**
   * Whose key it is; if that cannot be fetched now, what was known of this key before will do.
   * @param {string} name
   * @returns {Promise<Server.Me>}
   */
  async me(name) {
    const storageKey = `dford.me.${name}`;
    const secret = keyInUse(name);
    const key = secret?.split(".")[0] ?? null; // the part of it that is no secret
    try {
      const me = await fetchOwner(secret);
      write(storageKey, { ...me, key });
      return me;
    } catch (error) {
      if (!asProblem(error).temporary || !name) throw error;
      const before = read(storageKey);
      return knownOwner(secret) ?? (before?.key === key ? before : { role: "answer" });
    }
  }

  tryKeyLater() {
    if (this.hasUntriedKey) return;
    this.hasUntriedKey = true;
    notice("The key in the link will be checked as soon as the server can be reached.", 8);
    repeat(async () => {
      this.hasUntriedKey = !(await signIn.tryKeyOfLink());
      if (!this.hasUntriedKey) this.route();
      return !this.hasUntriedKey;
    });
  }

  /**
   * @param {string} name
   * @param {unknown} error
   */
  showProblem(name, error) {
    const main = byId("main");
    const { status: code, temporary } = error instanceof Problem ? error : { status: null, temporary: false };
    if (error instanceof Problem && (code === 401 || code === 403)) {
      header.showLinks(name, null, "none");
      signIn.show(main, name, error, this.route);
      return;
    }
    const title = code === 0 ? "No connection" : temporary ? "One moment" : "This page cannot be shown";
    const why = el("p", { role: "status" }, sentenceOf(error));
    fill(main, el("h1", { tabindex: "-1" }, title), why,
      temporary ? el("p", {}, "This page tries again automatically.") : null,
      el("p", {}, el("button", { type: "button", onclick: this.route }, "Try again"), " ",
        el("a", { href: "#/" }, "All projects")));
    if (temporary) this.routeWhenReachable(name, why);
    else asProblem(error);
  }

  /**
   * Route again once the server is ready; until then show what it is waiting for.
   * @param {string} name
   * @param {Element} why
   */
  routeWhenReachable(name, why) {
    const { visit } = this;
    repeat(async () => {
      if (visit !== this.visit) return true;
      try {
        await (name ? send("GET", projectPath(name, "/state"), { project: name }) : send("GET", "/me"));
      } catch (error) {
        if (asProblem(error).temporary) {
          setText(why, sentenceOf(error));
          return false;
        }
      }
      if (visit === this.visit) this.route();
      return true;
    });
  }
}
