// One project as this browser knows it: its description and its latest state, which outlive a reload without a network.

import { inside, Problem, send } from "./api.js";
import { Count } from "./count.js";
import { read, write } from "./storage.js";

const REST = 1500; // milliseconds, at least, between two looks at the state
const LATER = 5000; // the same, after one that failed

// The columns that are read by people, whether they are learned from or not.
export function textsOf({ columns }) {
  return (columns ?? []).filter(({ kind }) => kind === "text" || kind === "words").map(({ name }) => name);
}

// An item in a few words.
export function short(description, shown) {
  const text = textsOf(description).map((name) => shown[name]).find(Boolean) ?? Object.entries(shown).map((pair) => pair.join(" ")).join(", ");
  return String(text).length > 160 ? `${String(text).slice(0, 160)}…` : String(text);
}

export class Project extends EventTarget {
  constructor(name, outbox) {
    super();
    this.name = name;
    this.outbox = outbox;
    this.shelf = `dford.seen.${name}`;
    const { description, state } = read(this.shelf) ?? {};
    const usable = Array.isArray(description?.levels) && Number.isInteger(state?.items_done);
    this.description = usable ? description : null;
    this.state = usable ? state : null;
    this.count = new Count(outbox, this.state);
    this.trouble = null; // why the server does not answer as it should
    this.listeners = new AbortController();
    outbox.addEventListener("sent", () => this.look(), this.listeners);
    for (const type of ["online", "offline"]) addEventListener(type, () => this.look(), this.listeners);
  }

  close() {
    this.listeners.abort();
    clearTimeout(this.timer);
  }

  send(method, path, options = {}) {
    return send(method, inside(this.name, path), { ...options, project: this.name });
  }

  // Into the outbox, with what the list of refusals shows and what counting needs; null where there is no room.
  put({ number, turns, level, shown }, what) {
    return this.outbox.add({ question: number, turns, level, about: short(this.description, shown), ...what });
  }

  // The description and the state; what was seen before will do where they cannot be had now.
  async load() {
    try {
      [this.description] = await Promise.all([this.send("GET", ""), this.refresh()]);
      this.keep();
    } catch (problem) {
      if (!problem.passing || !this.description || !this.state) throw problem;
      this.reached(problem);
      this.look(LATER);
    }
    this.outbox.flush();
  }

  async refresh() {
    const counted = this.count.begin();
    this.state = await this.send("GET", "/state");
    counted(this.state);
    this.reached(null);
    this.dispatchEvent(new Event("state"));
  }

  // Look at the state soon, and again while it is not the last word.
  look(pause = REST) {
    if (this.listeners.signal.aborted || this.timer) return;
    this.timer = setTimeout(async () => {
      this.timer = null;
      try {
        await this.refresh();
        this.keep();
        const settled = this.state.learned === this.state.sequence && !this.state.stale && this.count.sent() === "";
        if (!settled && !this.outbox.waiting().length) this.look();
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        this.reached(problem);
        this.look(problem.pause(LATER));
      }
    }, pause);
  }

  reached(problem) {
    const before = this.trouble;
    this.trouble = problem;
    if (before?.words !== problem?.words) this.outbox.changed();
  }

  keep() {
    const { description, state } = this;
    write(this.shelf, { description, state });
  }
}
