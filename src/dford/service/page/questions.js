// The questions before a person: fetched ahead, asked once more after an undo, and released when the page is left.

import { asProblem, newIdempotencyKey, serverTime } from "./api.js";
import { notice } from "./dom.js";
import { storageFull } from "./outbox.js";
import { readList, writeForThisWindow } from "./storage.js";

const FEWEST = 3; // questions fetched ahead; at most a tenth of what was answered, so that none is asked on old news
const MOST = 10;
const PAUSE = 3000; // milliseconds, at least, between two attempts to get one

/** @typedef {Server.QuestionOut} Question */

/**
 * @typedef {object} Again an item to be asked about once more
 * @property {number} question the one that was answered
 * @property {number | null} item
 * @property {boolean} first whether it comes next
 * @property {string} key the Idempotency-Key
 */

/**
 * Whether nobody else is asked about the item.
 * @param {Question} question
 */
const isFresh = ({ expires }) => expires > serverTime();

export class Questions extends EventTarget {
  /** @param {import("./project.js").Project} project */
  constructor(project) {
    super();
    const { name, outbox } = project;
    this.project = project;
    this.storageKeys = { ahead: `dford.ahead.${name}`, key: `dford.asking.${name}` };
    /** @type {Question[]} */
    this.ahead = []; // the first is on the page
    /** @type {Question[]} */
    this.before = readList(this.storageKeys.ahead, "sessionStorage")
      .map((question) => ({ ...question, expires: 0 })); // shown where no others can be had
    /** @type {string | null} */
    this.key = readList(this.storageKeys.key, "sessionStorage")[0] ?? null; // of the request without a response yet
    /** @type {Again[]} */
    this.again = [];
    /** @type {import("./api.js").Problem | null} */
    this.problem = null; // why no question can be had
    this.isFetching = false;
    this.timer = 0;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    outbox.addEventListener("sent", () => this.fetch(), { signal });
    outbox.addEventListener("change", () => {
      if (!this.again.length) return;
      this.changed();
      this.fetch();
    }, { signal });
    addEventListener("online", () => this.fetch(), { signal });
    addEventListener("pagehide", () => this.release(), { signal });
  }

  close() {
    this.key = null; // a question that still comes is released, and is no other view's
    this.release();
    this.listeners.abort();
    clearTimeout(this.timer);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  current() {
    return this.isReturning() ? undefined : this.ahead[0];
  }

  // Whether an item that was undone is about to come back: the next one is not shown for just a moment.
  isReturning() {
    return this.again.some(({ first }) => first) && !this.problem && !this.project.outbox.problem;
  }

  /**
   * It has an answer, and what follows is shown, unless it lay here for so long that others may be asked about it.
   * @param {Question} question
   */
  leave(question) {
    this.ahead = this.ahead.filter((other) => other !== question && (this.problem || isFresh(other)));
    this.store();
    this.fetch();
  }

  /**
   * It was answered, and the answer never sent.
   * @param {Question} question
   */
  returnTo(question) {
    if (!isFresh(question) && !this.problem) {
      this.askAgain(question);
      return;
    }
    this.ahead.unshift(question);
    this.store();
    this.changed();
  }

  /**
   * About the same item, once what was done about it has left the outbox.
   * @param {Question} question
   */
  askAgain(question) {
    this.remember(question, true);
    this.changed();
    this.fetch();
  }

  /**
   * @param {Question} question
   * @param {boolean} first
   */
  remember({ number, item }, first) {
    this.again.push({ question: number, item, first, key: newIdempotencyKey() });
  }

  /**
   * About an item that somebody chose, next.
   * @param {number} item
   */
  askAbout(item) {
    this.again.push({ question: 0, item, first: true, key: newIdempotencyKey() });
  }

  // Others may be asked about what is not answered here. An answer that comes all the same still counts.
  release() {
    const questions = this.ahead.filter(isFresh).map(({ number }) => number);
    for (const question of this.ahead) question.expires = 0;
    this.store();
    if (questions.length) // where it is lost, the server waits until they expire
      this.project.send("POST", "/release", { json: { questions }, keepalive: true }).catch(() => {});
  }

  // Have some ready, so that nobody waits for the network between two of them.
  async fetch() {
    const { project } = this;
    const { signal } = this.listeners;
    if (this.isFetching || signal.aborted) return;
    this.isFetching = true;
    clearTimeout(this.timer);
    try {
      while (!signal.aborted) {
        const unsent = project.outbox.questions();
        const next = this.again.find(({ question }) => !unsent.has(question));
        const wanted = Math.max(FEWEST, Math.min(MOST, Math.floor(project.state.answers / 10)));
        if (next) await this.fetchAgain(next);
        else if (this.ahead.filter(isFresh).length < wanted) await this.fetchNext();
        else break;
        this.problem = null;
        project.setProblem(null);
        this.changed();
      }
    } catch (error) {
      this.failed(asProblem(error));
    } finally {
      this.isFetching = false;
    }
  }

  /** @param {import("./api.js").Problem} problem */
  failed(problem) {
    this.problem = problem;
    if (!["nothing-to-ask", "too-many-open"].includes(problem.code)) this.project.setProblem(problem);
    if (problem.temporary && !this.ahead.length) this.ahead = this.before.splice(0);
    clearTimeout(this.timer);
    if (!this.listeners.signal.aborted) this.timer = setTimeout(() => this.fetch(), problem.pause(PAUSE));
    this.changed();
  }

  async fetchNext() {
    this.key ??= newIdempotencyKey(); // the same until there is a response
    this.store();
    const question = await this.project.send("POST", "/questions", { key: this.key });
    this.key = null;
    await this.take(question, false);
  }

  /** @param {Again} again */
  async fetchAgain(again) {
    const { item, first, key } = again;
    let found = this.ahead.find((question) => question.item === item && isFresh(question)); // it came by itself
    if (found) this.ahead = this.ahead.filter((question) => question !== found);
    else {
      try {
        found = await this.project.send("POST", "/questions", { json: { item }, key });
      } catch (error) {
        if (asProblem(error).code !== "item-taken") throw error;
        if (first) notice("This item has been assigned to someone else in the meantime, so it does not come back here.", 8);
      }
    }
    this.again = this.again.filter((other) => other !== again);
    if (found) await this.take(found, first);
  }

  /**
   * Some policies ask about the highest level too. Nothing is above it: that is answered here, and the item asked about
   * again.
   * @param {Question} question
   * @param {boolean} first
   */
  async take(question, first) {
    const { project } = this;
    if (question.level === project.description.levels.at(-1)) {
      if (!project.put(question, { act: "answer", higher: false })) throw storageFull();
      this.remember(question, first);
      await project.outbox.flush();
      return;
    }
    this.before = [];
    if (first) this.ahead.unshift(question);
    else this.ahead.push(question);
    this.store();
    if (this.listeners.signal.aborted) this.release(); // the view was left meanwhile
  }

  // This window's own, as two windows have different questions before them; what is too large is asked for anew.
  store() {
    writeForThisWindow(this.storageKeys.ahead, this.ahead.length ? this.ahead : this.before);
    writeForThisWindow(this.storageKeys.key, [this.key]);
  }
}
