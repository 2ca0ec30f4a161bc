// What a person did goes into the browser's storage first and to the server then. It leaves the storage once the server
// has it on disk. Whatever breaks in between, it is sent again, and the server applies it once. What the server refuses
// for good goes to a list that the person sees; everything else waits.

import { foreign, inside, Problem, send } from "./api.js";
import { keysWith, read, readText, remove, write } from "./storage.js";

// By these codes, and nothing else, the server says that sending the same again will never help.
const FINAL = new Set(["answered-otherwise", "retracted", "skipped", "answered", "not-answered", "no-question", "not-yours"]);
const PAUSES = [1, 2, 4, 8, 15]; // seconds between attempts
const PATIENCE = 500; // milliseconds
const FULL = new Problem(507, "storage-full", "This browser's storage is full.");

export class Outbox extends EventTarget {
  constructor(project) {
    super();
    this.project = project;
    this.prefix = `dford.out.${project}/`;
    this.sentPrefix = `dford.sent.${project}/`; // what the server has, and its count, as known here, has not (count.js)
    this.refusedPrefix = `dford.refused.${project}/`;
    this.trouble = null; // why something waits
    this.failures = new Map(); // how often this window sent an entry in vain
    this.attempts = 0;
    this.last = 0;
    const again = () => { this.attempts = 0; this.flush(); };
    addEventListener("online", again);
    document.addEventListener("visibilitychange", () => document.hidden || again());
    // dford.out.rain/…, dford.count.rain: another window changed something
    addEventListener("storage", ({ key }) => { if (key === null || key.split(/[./]/)[2] === project) this.changed(); });
  }

  // One entry of the storage for each act: two windows of this browser cannot overwrite each other's. Null where there
  // is no room.
  add(act) {
    this.last = Math.max(this.last + 1, Date.now());
    const entry = `${this.prefix}${String(this.last).padStart(15, "0")}-${Math.random().toString(36).slice(2, 8)}`;
    if (!write(entry, { ...act, tried: false })) return null;
    this.flush();
    return entry;
  }

  // Take back what was never sent. Whether that was so: another window may be sending it just now, and that is not
  // waited for long. What was sent in vain may have arrived all the same.
  async withdraw(entry) {
    const take = () => {
      const act = read(entry);
      if (!act || act.tried) return false;
      remove(entry);
      this.changed();
      return true;
    };
    if (this.sending || !navigator.locks) return take();
    return navigator.locks.request(this.prefix, { signal: AbortSignal.timeout(PATIENCE) }, take).catch(() => false);
  }

  waiting() {
    return keysWith(this.prefix);
  }

  // The questions of which something waits.
  questions() {
    return new Set(this.waiting().map((entry) => read(entry)?.question));
  }

  refused() {
    return keysWith(this.refusedPrefix).map((entry) => ({ entry, ...read(entry) }));
  }

  dismiss(entry) {
    remove(entry);
    this.changed();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  // Send what waits; done when all of it was tried. Of two windows one sends at a time; without locks both may, which
  // does no harm.
  flush() {
    this.changed();
    clearTimeout(this.timer);
    const work = () => { this.queued = null; return this.sendAll(); };
    this.queued ??= navigator.locks ? navigator.locks.request(this.prefix, work) : (this.turn = Promise.resolve(this.turn).then(work));
    return this.queued;
  }

  async sendAll() {
    this.sending = true;
    try {
      this.trouble = await this.sendEach();
    } finally {
      this.sending = false;
    }
    if (this.trouble) {
      const pause = this.trouble.retryAfter || PAUSES[Math.min(this.attempts++, PAUSES.length - 1)];
      this.timer = setTimeout(() => this.flush(), 1000 * pause);
    } else this.attempts = 0;
    this.changed();
  }

  // Until one fails, or all are sent. An act that is stuck holds up only those of its own question: the next time, those
  // that failed less often come first.
  async sendEach() {
    try {
      // First see whether there is a server again: what was never sent can simply be withdrawn.
      if (this.trouble?.status === 0) await send("GET", "/health");
      for (let entry; (entry = this.next()); ) await this.sendOne(entry);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return problem;
    }
    return null;
  }

  // Of each question its first act, as an answer comes before its retraction; of these the one that failed least often.
  next() {
    const seen = new Set();
    const first = this.waiting().filter((entry) => {
      const question = read(entry)?.question;
      return !seen.has(question) && seen.add(question);
    });
    const failures = (entry) => this.failures.get(entry) ?? 0;
    return first.sort((a, b) => failures(a) - failures(b))[0];
  }

  async sendOne(entry) {
    const act = read(entry);
    if (readText(entry) === null) return; // another window had it
    if (!act?.question || !act.act) return this.refuse(entry, { ...act, code: "damaged" });
    write(entry, { ...act, tried: true }); // shorter than false, so there is room
    this.failures.set(entry, (this.failures.get(entry) ?? 0) + 1);
    try {
      const json = act.act === "answer" ? { higher: act.higher } : undefined;
      const path = inside(this.project, `/questions/${act.question}/${act.act}`);
      const done = await send("POST", path, { project: this.project, json, keepalive: true });
      if (done?.question !== act.question) throw foreign(200);
    } catch (problem) {
      if (!FINAL.has(problem.code)) throw problem;
      return this.refuse(entry, { ...act, code: problem.code });
    }
    const { question, turns } = act;
    write(this.sentPrefix + entry.slice(this.prefix.length), { question, turns, act: act.act });
    this.settle(entry, "sent");
  }

  refuse(entry, act) {
    if (!write(this.refusedPrefix + entry.slice(this.prefix.length), act)) throw FULL;
    this.settle(entry, "refused");
  }

  settle(entry, event) {
    remove(entry);
    this.failures.delete(entry);
    this.dispatchEvent(new CustomEvent(event, { detail: entry }));
    this.changed();
  }
}
