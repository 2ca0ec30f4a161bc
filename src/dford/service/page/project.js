// One project as this browser knows it: its description and its latest state, which survive a reload without a network.

import { asProblem, projectPath, send } from "./api.js";
import { summary } from "./item.js";
import { Progress } from "./progress.js";
import { read, write } from "./storage.js";

/** @typedef {import("./api.js").Problem} Problem */

const PAUSE = 1500; // the least milliseconds between two requests for the state
const PAUSE_AFTER_PROBLEM = 5000;

export class Project extends EventTarget {
  /**
   * @param {string} name
   * @param {import("./outbox.js").Outbox} outbox
   */
  constructor(name, outbox) {
    super();
    this.name = name;
    this.role = ""; // of the key in use
    /** @type {string | undefined} */
    this.person = undefined; // whose key it is; nobody's, if the server has no keys
    this.outbox = outbox;
    this.storageKey = `dford.seen.${name}`;
    const { description, state, forecast } = read(this.storageKey) ?? {};
    this.isKnown = Array.isArray(description?.levels) && Number.isInteger(state?.items_done);
    /** @type {Server.ProjectOut} */
    this.description = description; // this and the state are there once load() is done
    /** @type {Server.State} */
    this.state = state;
    this.progress = new Progress(outbox, this.isKnown ? state : null);
    // how far off the items are, and how many answers it takes to reach the target
    /** @type {Server.Remaining | null} */
    this.forecast = forecast?.answers ? forecast : null;
    this.hasForecast = true; // until the server says that the learner has no placements
    /** @type {Problem | null} */
    this.problem = null; // why the server does not respond as it should
    this.timer = 0;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    outbox.addEventListener("sent", () => this.refreshSoon(), { signal });
    for (const type of ["online", "offline"]) addEventListener(type, () => this.refreshSoon(), { signal });
  }

  close() {
    this.listeners.abort();
    clearTimeout(this.timer);
  }

  /**
   * @param {"GET" | "POST" | "PUT" | "DELETE"} method
   * @param {string} path
   * @param {import("./api.js").Options} options
   */
  send(method, path, options = {}) {
    return send(method, projectPath(this.name, path), { ...options, project: this.name });
  }

  /**
   * Put an act into the outbox, with what the list of refusals shows and what counting needs; null if there is no room.
   * @param {Server.QuestionOut} question
   * @param {{ act: "answer" | "skip" | "retract", higher?: boolean, rating?: string }} act
   */
  put({ number, turns, level, shown }, act) {
    const { person } = this;
    return this.outbox.add({ question: number, turns, level, about: summary(this.description, shown), person, ...act });
  }

  // Load the description and the state; if they cannot be loaded now, what was seen before will do.
  async load() {
    try {
      [this.description] = await Promise.all([this.send("GET", ""), this.refresh()]);
      this.isKnown = true;
      this.store();
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.temporary || !this.isKnown) throw problem;
      this.setProblem(problem);
      this.refreshSoon(PAUSE_AFTER_PROBLEM);
    }
    this.outbox.flush();
  }

  async refresh() {
    const count = this.progress.begin();
    this.state = await this.send("GET", "/state");
    count(this.state);
    this.setProblem(null);
    this.dispatchEvent(new Event("state"));
    if (this.hasForecast && this.state.items) this.refreshForecast();
  }

  async refreshForecast() {
    try {
      this.forecast = await this.send("GET", "/remaining");
    } catch (error) {
      if (asProblem(error).code !== "no-placements") return;
      this.hasForecast = false;
      this.forecast = null; // of another project that had this name
    }
    if (this.listeners.signal.aborted) return;
    if (this.isKnown) this.store();
    this.dispatchEvent(new Event("forecast"));
  }

  // And again, until the state is final.
  refreshSoon(pause = PAUSE) {
    if (this.listeners.signal.aborted || this.timer) return;
    this.timer = setTimeout(async () => {
      this.timer = 0;
      try {
        await this.refresh();
        this.store();
        const { learned, sequence, stale } = this.state;
        const done = learned === sequence && !stale && this.progress.sent() === "";
        if (!done && !this.outbox.waiting().length) this.refreshSoon();
      } catch (error) {
        const problem = asProblem(error);
        this.setProblem(problem);
        this.refreshSoon(problem.pause(PAUSE_AFTER_PROBLEM));
      }
    }, pause);
  }

  /** @param {Problem | null} problem */
  setProblem(problem) {
    const before = this.problem;
    this.problem = problem;
    if (before?.words !== problem?.words) this.outbox.changed();
  }

  store() {
    const { description, state, forecast } = this;
    write(this.storageKey, { description, state, forecast });
  }
}
