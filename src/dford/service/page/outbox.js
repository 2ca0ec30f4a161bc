// What a person did goes into the browser's storage first, then to the server. It leaves the storage once the server
// has it on disk. Whatever fails in between, it is sent again, and the server applies it once. What the server refuses
// for good goes to a list that the person sees; everything else waits. It is only ever sent with a key of the person
// who did it: what somebody else did in this browser waits until they sign in here again. What was done while the
// server had no keys waits, too, once it has some: nobody can tell who did it.

import { asProblem, foreignReply, Problem, projectPath, send } from "./api.js";
import { signedIn } from "./owners.js";
import { keysWith, read, readText, remove, write } from "./storage.js";

// Only these codes mean that sending the same again will never help.
const FINAL = new Set(["answered-otherwise", "retracted", "skipped", "answered", "not-answered", "no-question", "not-yours"]);
const PAUSES = [1, 2, 4, 8, 15]; // seconds between attempts
const PATIENCE = 500; // milliseconds
const PREFIX = "dford.out.";
const REFUSED_PREFIX = "dford.refused.";

/**
 * @typedef {object} Act something a person did with a question
 * @property {number} question
 * @property {"answer" | "skip" | "retract"} act
 * @property {boolean} [higher] for an answer
 * @property {string} [rating] for an answer that gives the level itself
 * @property {string} [level] that the question is about
 * @property {string} [about] the item in a few words
 * @property {string} [person] who did it; nobody, if the server has no keys
 * @property {number | null} [turns] how often the item was answered or skipped before
 * @property {boolean} [tried] whether it was ever sent
 */

/** @typedef {Partial<Act> & { code: string }} Refused why the server did not take it */

/** @param {string} storageKey such as dford.out.rain/… or dford.count.rain */
const projectOf = (storageKey) => storageKey.split(/[./]/)[2];

// The projects with something stored here that the server does not have, or has refused.
export function storedProjects() {
  return new Set([...keysWith(PREFIX), ...keysWith(REFUSED_PREFIX)].map(projectOf));
}

/** @type {(person: string | null, by: string | undefined) => boolean} */
const isBy = (person, by) => person === null || (by ?? "") === person;

/** @param {any} act */
const isAct = (act) => Boolean(act?.question && act.act);

// Damaged entries are anybody's: whoever is there sees that they cannot be sent.
/** @type {(person: string | null, act: any) => boolean} */
const mayHave = (person, act) => !isAct(act) || isBy(person, act.person);

export const storageFull = () => new Problem(507, "storage-full", "This browser's storage is full.");

export class Outbox extends EventTarget {
  /** @param {string} project its name */
  constructor(project) {
    super();
    this.project = project;
    this.prefix = `${PREFIX}${project}/`;
    this.sentPrefix = `dford.sent.${project}/`; // what the server has, but its last count lacks (progress.js)
    this.refusedPrefix = `${REFUSED_PREFIX}${project}/`;
    /** @type {Problem | null} */
    this.problem = null; // why something waits
    /** @type {string | null} */
    this.sender = null; // the person whose key is in use, as far as this window knows; "" if the server has no keys
    /** @type {Map<string, number>} */
    this.failures = new Map(); // how often this window failed to send an entry
    this.attempts = 0;
    this.lastTime = 0; // of an entry: entries are sent in the order of their times
    this.isSending = false;
    /** @type {Promise<unknown> | null} */
    this.queued = null; // a turn to send that has not started
    /** @type {Promise<unknown>} */
    this.turn = Promise.resolve(); // the latest turn, if there are no locks
    this.timer = 0;
    const again = () => { this.attempts = 0; this.flush(); };
    addEventListener("online", again);
    document.addEventListener("visibilitychange", () => document.hidden || again());
    addEventListener("storage", ({ key }) => { // another window changed something
      if (key === null || projectOf(key) === project) this.changed();
    });
  }

  /**
   * One storage entry per act, so that two windows of this browser cannot overwrite each other's. Null if there is no
   * room.
   * @param {Act} act
   */
  add(act) {
    this.lastTime = Math.max(this.lastTime + 1, Date.now());
    const entry = `${this.prefix}${String(this.lastTime).padStart(15, "0")}-${Math.random().toString(36).slice(2, 8)}`;
    if (!write(entry, { ...act, tried: false })) return null;
    this.flush();
    return entry;
  }

  /**
   * Take back an act that was never sent; returns whether that succeeded. Another window may be sending it right now,
   * which is not waited for long. An act whose sending failed may have arrived all the same.
   * @param {string} entry
   * @returns {boolean | Promise<boolean>}
   */
  withdraw(entry) {
    const take = () => {
      const act = read(entry);
      if (!act || act.tried) return false;
      remove(entry);
      this.changed();
      return true;
    };
    if (this.isSending || !navigator.locks) return take();
    return navigator.locks.request(this.prefix, { signal: AbortSignal.timeout(PATIENCE) }, take).catch(() => false);
  }

  // What can be sent with the key in use.
  waiting() {
    return this.entriesOf(this.sender);
  }

  /** @param {string | null} person if nobody knows who that is, all */
  entriesOf(person) {
    return keysWith(this.prefix).filter((entry) => mayHave(person, read(entry)));
  }

  /** @param {string | undefined} person */
  isOwn(person) {
    return isBy(this.sender, person);
  }

  /**
   * What other people did here that the server does not have, by person; "" for what was done without keys.
   * @returns {Map<string, string[]>}
   */
  ofOthers() {
    const others = new Map();
    for (const entry of keysWith(this.prefix)) {
      const act = read(entry);
      const person = act?.person ?? "";
      if (!mayHave(this.sender, act)) others.set(person, [...(others.get(person) ?? []), entry]);
    }
    return others;
  }

  /**
   * The person who has signed in says that it was they who did this.
   * @param {string[]} entries
   */
  take(entries) {
    for (const entry of entries) {
      const act = read(entry); // another window may have discarded it
      if (act) write(entry, { ...act, person: this.sender });
    }
    this.flush();
  }

  // The questions with something waiting.
  questions() {
    return new Set(this.waiting().map((entry) => read(entry)?.question));
  }

  /** @returns {(Refused & { entry: string })[]} */
  refused() {
    return keysWith(this.refusedPrefix).map((entry) => ({ entry, ...read(entry) }));
  }

  /** @param {string} entry */
  dismiss(entry) {
    remove(entry);
    this.changed();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  // Send what is waiting; done when all of it was tried. Only one window sends at a time; without locks several may,
  // which does no harm.
  flush() {
    this.changed();
    clearTimeout(this.timer);
    const work = () => { this.queued = null; return this.sendAll(); };
    this.queued ??= navigator.locks ? navigator.locks.request(this.prefix, work) : (this.turn = this.turn.then(work));
    return this.queued;
  }

  async sendAll() {
    this.isSending = true;
    try {
      this.problem = await this.sendEach();
    } finally {
      this.isSending = false;
    }
    if (this.problem) {
      const pause = this.problem.retryAfter || PAUSES[Math.min(this.attempts++, PAUSES.length - 1)];
      this.timer = setTimeout(() => this.flush(), 1000 * pause);
    } else this.attempts = 0;
    this.changed();
  }

  // Until one fails, or all are sent. A stuck act only holds up others of the same question: the next time, those that
  // failed less often come first.
  async sendEach() {
    try {
      // First check that the server is back: an act that was never sent can still simply be withdrawn.
      if (this.problem?.status === 0) await send("GET", "/health");
      if (!keysWith(this.prefix).length) return null;
      const { secret, person } = await signedIn(this.project);
      this.sender = person;
      for (let entry; (entry = this.next(person)); ) await this.sendOne(entry, secret);
    } catch (error) {
      return asProblem(error);
    }
    return null;
  }

  /**
   * The first act of each question, as an answer comes before its retraction; among these, the one that failed least.
   * @param {string | null} person
   */
  next(person) {
    const seen = new Set();
    const first = this.entriesOf(person).filter((entry) => {
      const question = read(entry)?.question;
      return !seen.has(question) && seen.add(question);
    });
    const failures = (/** @type {string} */ entry) => this.failures.get(entry) ?? 0;
    return first.sort((a, b) => failures(a) - failures(b))[0];
  }

  /**
   * @param {string} entry
   * @param {string | null} secret the key of the person who did it: another window may have replaced the one in use
   */
  async sendOne(entry, secret) {
    const act = read(entry);
    if (readText(entry) === null) return; // another window has sent it
    if (!isAct(act)) {
      this.refuse(entry, { ...act, code: "damaged" });
      return;
    }
    write(entry, { ...act, tried: true }); // shorter than false, so there is room
    this.failures.set(entry, (this.failures.get(entry) ?? 0) + 1);
    try {
      const said = act.rating === undefined ? { higher: act.higher } : { rating: act.rating };
      const json = act.act === "answer" ? said : undefined;
      const path = projectPath(this.project, `/questions/${act.question}/${act.act}`);
      const done = await send("POST", path, { secret, json, keepalive: true });
      if (done?.question !== act.question) throw foreignReply(200);
    } catch (error) {
      const { code } = asProblem(error);
      if (!FINAL.has(code)) throw error;
      this.refuse(entry, { ...act, code });
      return;
    }
    const { question, turns } = act;
    write(this.sentPrefix + entry.slice(this.prefix.length), { question, turns, act: act.act });
    this.done(entry, "sent");
  }

  /**
   * @param {string} entry
   * @param {Refused} act
   */
  refuse(entry, act) {
    if (!write(this.refusedPrefix + entry.slice(this.prefix.length), act)) throw storageFull();
    this.done(entry, "refused");
  }

  /**
   * @param {string} entry
   * @param {"sent" | "refused"} event
   */
  done(entry, event) {
    remove(entry);
    this.failures.delete(entry);
    this.dispatchEvent(new CustomEvent(event, { detail: entry }));
    this.changed();
  }
}
