// What a person did goes into the browser's storage first and to the server then. It is taken out once the server has
// it on disk; whatever breaks in between, it is sent again, and the server does it once.

import { notice } from "./dom.js";
import { inside, send } from "./api.js";

const PAUSES = [1, 2, 4, 8, 15]; // seconds between attempts
const PATIENCE = 500; // milliseconds

export class Outbox extends EventTarget {
  constructor(project) {
    super();
    this.project = project;
    this.trouble = null; // why nothing goes out at the moment
    this.prefix = `dford.out.${project}/`;
    this.last = 0;
    this.underWay = null; // the entry being sent
    this.attempts = 0;
    this.ears = new AbortController();
    const again = () => { this.attempts = 0; this.flush(); };
    addEventListener("online", again, this.ears);
    addEventListener("offline", () => this.changed(), this.ears);
    addEventListener("storage", (event) => event.key?.startsWith(this.prefix) && this.changed(), this.ears);
    document.addEventListener("visibilitychange", () => document.hidden || again(), this.ears);
  }

  close() {
    this.ears.abort();
    clearTimeout(this.timer);
  }

  // One entry of the storage an act: two windows of this browser cannot overwrite each other's.
  add(act) {
    this.last = Math.max(this.last + 1, Date.now());
    const entry = `${this.prefix}${String(this.last).padStart(15, "0")}-${Math.random().toString(36).slice(2, 8)}`;
    localStorage.setItem(entry, JSON.stringify(act));
    this.flush();
    return entry;
  }

  // Take back what has not gone out yet. Whether that was so: this window or another may be sending it just now, and
  // that is not waited for long.
  async withdraw(entry) {
    const remove = () => {
      if (entry === this.underWay || localStorage.getItem(entry) === null) return false;
      localStorage.removeItem(entry);
      this.changed();
      return true;
    };
    if (this.sending || !navigator.locks) return remove();
    const patience = { signal: AbortSignal.timeout(PATIENCE) };
    return navigator.locks.request(this.prefix, patience, remove).catch(() => false);
  }

  waiting() {
    return Object.keys(localStorage).filter((name) => name.startsWith(this.prefix)).sort();
  }

  acts() {
    return this.waiting().map((entry) => JSON.parse(localStorage.getItem(entry))).filter(Boolean);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  async flush() {
    this.changed();
    clearTimeout(this.timer);
    if (this.queued) return;
    this.queued = true;
    const work = () => { this.queued = false; return this.sendAll(); };
    // of two windows, one sends at a time; without locks both may, which does no harm
    if (navigator.locks) await navigator.locks.request(this.prefix, work);
    else await (this.turn = Promise.resolve(this.turn).then(work));
  }

  async sendAll() {
    this.sending = true;
    try {
      for (let entry; (entry = this.waiting()[0]) && !this.ears.signal.aborted; ) {
        this.underWay = entry;
        if (!(await this.sendOne(entry))) break;
      }
    } finally {
      this.sending = false;
      this.underWay = null;
    }
    this.changed();
  }

  async sendOne(entry) {
    const kept = localStorage.getItem(entry);
    if (kept === null) return true; // another window had it
    const { question, act, higher } = JSON.parse(kept);
    try {
      const json = act === "answer" ? { higher } : undefined;
      await send("POST", inside(this.project, `/questions/${question}/${act}`), { project: this.project, json });
    } catch (problem) {
      if (problem.passing || problem.status === 401 || problem.status === 403) {
        this.trouble = problem;
        const pause = problem.retryAfter || PAUSES[Math.min(this.attempts++, PAUSES.length - 1)];
        this.timer = setTimeout(() => this.flush(), 1000 * pause);
        return false;
      }
      notice(problem.sentence); // it was settled otherwise before, and that stands
    }
    this.trouble = null;
    this.attempts = 0;
    localStorage.removeItem(entry);
    this.dispatchEvent(new CustomEvent("sent", { detail: act }));
    this.changed();
    return true;
  }
}
