// The questions before a person: fetched ahead, asked once more after an undo, and released when the page is left.

import { newKey, Problem, serverTime } from "./api.js";
import { notice } from "./dom.js";
import { readList, remove, write } from "./storage.js";

const FEWEST = 3; // questions fetched ahead; at most a tenth of what was answered, so that none is asked on old news
const MOST = 10;
const PAUSE = 3000; // milliseconds, at least, between two attempts to get one

// Whether nobody else is asked about the item.
const isFresh = ({ expires }) => expires > serverTime();

export class Questions extends EventTarget {
  constructor(project) {
    super();
    const { name, outbox } = project;
    this.project = project;
    this.shelves = { ahead: `dford.ahead.${name}`, key: `dford.asking.${name}` };
    this.ahead = []; // the first is on the page
    this.before = readList(this.shelves.ahead, "sessionStorage").map((question) => ({ ...question, expires: 0 })); // shown where no others can be had
    [this.key = null] = readList(this.shelves.key, "sessionStorage"); // of the request that has no response yet
    this.again = []; // items to be asked about once more
    this.problem = null; // why no question can be had
    this.listeners = new AbortController();
    outbox.addEventListener("sent", () => this.fetch(), this.listeners);
    outbox.addEventListener("change", () => { if (this.again.length) { this.changed(); this.fetch(); } }, this.listeners);
    addEventListener("online", () => this.fetch(), this.listeners);
    addEventListener("pagehide", () => this.release(), this.listeners);
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
    return this.again.some(({ first }) => first) && !this.problem && !this.project.outbox.trouble;
  }

  // It has an answer, and what follows is shown, unless it lay here for so long that others may be asked about it.
  leave(question) {
    this.ahead = this.ahead.filter((other) => other !== question && (this.problem || isFresh(other)));
    this.keep();
    this.fetch();
  }

  // It was answered, and the answer never sent.
  returnTo(question) {
    if (!isFresh(question) && !this.problem) return this.askAgain(question);
    this.ahead.unshift(question);
    this.keep();
    return this.changed();
  }

  // About the same item, once what was done about it has left the outbox.
  askAgain({ number, item }, first = true) {
    this.again.push({ question: number, item, first, key: newKey() });
    this.changed();
    this.fetch();
  }

  // Others may be asked about what is not answered here. An answer that comes all the same still counts.
  release() {
    const questions = this.ahead.filter(isFresh).map(({ number }) => number);
    for (const question of this.ahead) question.expires = 0;
    this.keep();
    if (questions.length) // where it is lost, the server waits until they expire
      this.project.send("POST", "/release", { json: { questions }, keepalive: true }).catch(() => {});
  }

  // Have some ready, so that nobody waits for the network between two of them.
  async fetch() {
    const { listeners, project } = this;
    if (this.fetching || listeners.signal.aborted) return;
    this.fetching = true;
    clearTimeout(this.timer);
    try {
      while (!listeners.signal.aborted) {
        const unsent = project.outbox.questions();
        const next = this.again.find(({ question }) => !unsent.has(question));
        const wanted = Math.max(FEWEST, Math.min(MOST, Math.floor((project.state?.answers ?? 0) / 10)));
        if (next) await this.fetchAgain(next);
        else if (this.ahead.filter(isFresh).length < wanted) await this.fetchNext();
        else break;
        this.problem = null;
        project.reached(null);
        this.changed();
      }
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.failed(problem);
    } finally {
      this.fetching = false;
    }
  }

  failed(problem) {
    this.problem = problem;
    if (!["nothing-to-ask", "too-many-open"].includes(problem.code)) this.project.reached(problem);
    if (problem.passing && !this.ahead.length) this.ahead = this.before.splice(0);
    clearTimeout(this.timer);
    if (!this.listeners.signal.aborted) this.timer = setTimeout(() => this.fetch(), problem.pause(PAUSE));
    this.changed();
  }

  async fetchNext() {
    this.key ??= newKey(); // the same until there is a response
    this.keep();
    const question = await this.project.send("POST", "/questions", { key: this.key });
    this.key = null;
    await this.take(question, false);
  }

  async fetchAgain(one) {
    const { item, first, key } = one;
    let found = this.ahead.find((question) => question.item === item && isFresh(question)); // it came by itself
    if (found) this.ahead = this.ahead.filter((question) => question !== found);
    else {
      try {
        found = await this.project.send("POST", "/questions", { json: { item }, key });
      } catch (problem) {
        if (problem.code !== "item-taken") throw problem;
        if (first) notice("This item has been assigned to somebody else in the meantime, so it does not come back here.", 8);
      }
    }
    this.again = this.again.filter((other) => other !== one);
    if (found) await this.take(found, first);
  }

  // Some policies ask about the highest level too. Nothing is above it: that is answered here, and the item asked about
  // again.
  async take(question, first) {
    const { project } = this;
    if (question.level === project.description.levels.at(-1)) {
      if (!project.put(question, { act: "answer", higher: false })) throw new Problem(507, "storage-full", "This browser's storage is full.");
      this.again.push({ question: question.number, item: question.item, first, key: newKey() });
      await project.outbox.flush();
      return;
    }
    this.before = [];
    if (first) this.ahead.unshift(question);
    else this.ahead.push(question);
    this.keep();
    if (this.listeners.signal.aborted) this.release(); // the view was left meanwhile
  }

  // This window's own, as two windows have different questions before them.
  keep() {
    const kept = { ahead: this.ahead.length ? this.ahead : this.before, key: [this.key] };
    for (const [what, shelf] of Object.entries(this.shelves))
      if (!write(shelf, kept[what], "sessionStorage")) remove(shelf, "sessionStorage"); // too large: asked for anew
  }
}
