// What a person did recently in this window: it can be undone, and shows how fast they answer.

import { readList, writeForThisWindow } from "./storage.js";

const REMEMBERED = 20;
const SITTING = 120_000; // milliseconds; a longer break begins a new one

/**
 * @typedef {object} RecentAct
 * @property {Server.QuestionOut} question
 * @property {"answer" | "skip"} act
 * @property {boolean} [higher] of an answer
 * @property {string} [rating] of an answer that gives the level itself
 * @property {string} entry of the outbox
 * @property {number} at
 */

export class RecentActs {
  /** @param {import("./project.js").Project} project */
  constructor({ name, person }) {
    this.storageKey = `dford.done.${name}/${person ?? ""}`;
    /** @type {RecentAct[]} */
    this.acts = readList(this.storageKey, "sessionStorage").filter(({ question }) => question); // latest first
  }

  /** @returns {RecentAct | undefined} */
  get last() {
    return this.acts[0];
  }

  /** @param {RecentAct} act */
  add(act) {
    this.set([act, ...this.acts].slice(0, REMEMBERED));
  }

  /** @param {string} entry of the outbox */
  remove(entry) {
    this.set(this.acts.filter((act) => act.entry !== entry));
  }

  /** @param {RecentAct[]} acts */
  set(acts) {
    this.acts = acts;
    writeForThisWindow(this.storageKey, acts);
  }

  // Answers per minute over the latest ones, in one sitting; null if there are too few.
  pace() {
    const times = this.acts.filter(({ act }) => act === "answer").map(({ at }) => at);
    const end = times.findIndex((at, i) => i && times[i - 1] - at > SITTING);
    const sitting = end < 0 ? times : times.slice(0, end);
    const count = sitting.length - 1;
    return count > 1 ? (60_000 * count) / Math.max(sitting[0] - sitting[count], 1) : null;
  }
}
