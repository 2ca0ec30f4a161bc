// A person's questions: fetched ahead, asked once more after an undo, and released when the page is left.

import { asProblem, newIdempotencyKey, serverTime } from "./api.js";
import { notice } from "./dom.js";
import { storageFull } from "./outbox.js";
import { readList, writeForThisWindow } from "./storage.js";

const FEWEST = 3; // questions fetched ahead; more only up to a tenth of the answers, so that none is out of date
const MOST = 10;
const PAUSE = 3000; // the least milliseconds between two attempts to get one

/** @typedef {Server.QuestionOut} Question */

/**
 * @typedef {object} Again an item to ask about once more
 * @property {number} question the one that was answered
 * @property {number | null} item
 * @property {boolean} first whether it comes next
 * @property {string} key the Idempotency-Key
 */

/**
 * Whether the item is still reserved, so that nobody else is asked about it.
 * @param {Question} question
 */
const isFresh = ({ expires }) => expires > serverTime();

export class Questions extends EventTarget {
  /** @param {import("./project.js").Project} project */
  constructor(project) {
    super();
    const { outbox } = project;
    this.project = project;
    const whose = `${project.name}/${project.person ?? ""}`;
    this.storageKeys = { ahead: `dford.ahead.${whose}`, key: `dford.asking.${whose}` };
    /** @type {Question[]} */
    this.ahead = []; // the first is on the page
    /** @type {Question[]} */
    this.before = readList(this.storageKeys.ahead, "sessionStorage")
      .map((question) => ({ ...question, expires: 0 })); // shown if no others can be fetched
    /** @type {string | null} */
    this.key = readList(this.storageKeys.key, "sessionStorage")[0] ?? null; // of the request that has no response yet
    /** @type {Again[]} */
    this.again = [];
    /** @type {import("./api.js").Problem | null} */
    this.problem = null; // why no question can be fetched
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
    this.key = null; // a question that still arrives is released, and not shown in another view
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

  // Whether an undone item is about to come back, so that the next one is not shown just for a moment.
  isReturning() {
    return this.again.some(({ first }) => first) && !this.problem && !this.project.outbox.problem;
  }

  /**
   * The question is answered: go on to the next one that has not expired.
   * @param {Question} question
   */
  leave(question) {
    this.ahead = this.ahead.filter((other) => other !== question && (this.problem || isFresh(other)));
    this.store();
    this.fetch();
  }

  /**
   * The question was answered, but the answer never sent.
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
   * Ask about the same item, once its earlier act has left the outbox.
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
   * Ask next about an item that someone chose.
   * @param {number} item
   */
  askAbout(item) {
    this.again.push({ question: 0, item, first: true, key: newIdempotencyKey() });
  }

  // Let others be asked about what is not answered here. An answer that arrives anyway still counts.
  release() {
    const questions = this.ahead.filter(isFresh).map(({ number }) => number);
    for (const question of this.ahead) question.expires = 0;
    this.store();
    if (questions.length) // if this gets lost, they expire on the server
      this.project.send("POST", "/release", { json: { questions }, keepalive: true }).catch(() => {});
  }

  // Keep some ready, so that nobody waits for the network between two questions.
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
    let found = this.ahead.find((question) => question.item === item && isFresh(question)); // it came up by itself
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
   * Some policies also ask about the highest level. Nothing is above it, so this is answered here, and the item asked
   * about again.
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
    if (this.listeners.signal.aborted) this.release(); // the view was left in the meantime
  }

  // For this window only, as two windows have different questions; what is too large to store is requested again.
  store() {
    writeForThisWindow(this.storageKeys.ahead, this.ahead.length ? this.ahead : this.before);
    writeForThisWindow(this.storageKeys.key, [this.key]);
  }
}
