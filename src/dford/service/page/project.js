// One project as this browser knows it: its description and its latest state, which outlive a reload without a network.

import { inside, send } from "./api.js";
import { Outbox } from "./outbox.js";

const REST = 1500; // milliseconds, at least, between two looks at the state

// The columns that are read by people, whether they are learned from or not.
export function textsOf({ columns }) {
  return (columns ?? []).filter(({ kind }) => kind === "text" || kind === "words").map(({ name }) => name);
}

export class Project extends EventTarget {
  constructor(name) {
    super();
    this.name = name;
    this.outbox = new Outbox(name);
    this.unseen = 0; // items done that the server knows of and `state` does not yet
    this.outbox.addEventListener("sent", ({ detail }) => {
      this.unseen += detail === "retract" ? -1 : 1;
      this.look();
    });
    this.shelf = `dford.seen.${name}`;
    const before = JSON.parse(localStorage.getItem(this.shelf) ?? "{}");
    this.description = before.description ?? null;
    this.state = before.state ?? null;
    this.reachable = true;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.outbox.close();
  }

  send(method, path, options = {}) {
    return send(method, inside(this.name, path), { ...options, project: this.name });
  }

  // Who I am here, the description and the state; what was seen before will do where there is no network.
  async load() {
    try {
      [this.description, this.state] = await Promise.all([this.send("GET", ""), this.send("GET", "/state")]);
      this.keep();
    } catch (problem) {
      if (!problem.passing || !this.description || !this.state) throw problem;
      this.reached(false);
    }
    this.outbox.flush();
  }

  // Look at the state, soon, and not too often.
  look() {
    if (this.closed || this.timer) return;
    this.timer = setTimeout(async () => {
      this.timer = null;
      const seen = this.unseen;
      try {
        this.state = await this.send("GET", "/state");
        this.unseen -= seen;
        this.keep();
        this.reached(true);
        this.dispatchEvent(new Event("state"));
      } catch (problem) {
        if (problem.passing) this.reached(false);
      }
    }, REST);
  }

  reached(whether) {
    if (this.reachable === whether) return;
    this.reachable = whether;
    this.outbox.changed();
  }

  keep() {
    const { description, state } = this;
    localStorage.setItem(this.shelf, JSON.stringify({ description, state }));
  }
}
