// How many items are done: the server's last count, plus what this browser has done that the count does not include.
//
// A state may or may not include an act that was being sent when it was requested, and does not say (a skip has no
// place in the log). So a state is only counted from if nothing was being sent between its request and its response:
// then it includes everything that was sent. Both are in the storage, so that all windows of this browser count alike.

import { keysWith, read, remove, write } from "./storage.js";

/**
 * What to count from; `holds` are the acts of this browser that it includes. They are removed a moment later, and
 * another window may look in between.
 *
 * @typedef {Pick<Server.State, "items" | "items_done" | "sequence"> & { holds?: string[] }} Count
 */

/** @type {Count} */
const NOTHING = { items: 0, items_done: 0, sequence: 0 };

export class Progress {
  /**
   * @param {import("./outbox.js").Outbox} outbox
   * @param {Count | null} before what to count from if nothing is stored
   */
  constructor(outbox, before) {
    this.outbox = outbox;
    this.storageKey = `dford.count.${outbox.project}`;
    this.first = before;
    this.isFresh = false; // whether the server has replied since the page was opened
  }

  // Call it before a state is requested, and call what it returns with the state.
  begin() {
    const before = this.sent();
    return (/** @type {Count} */ { items, items_done, sequence }) => {
      const holds = before ? before.split("\n").map((entry) => entry.slice(this.outbox.sentPrefix.length)) : [];
      const state = { items, items_done, sequence, holds };
      this.first ??= { items, items_done, sequence };
      if (before === null || before !== this.sent()) return;
      // two windows may get two states in the wrong order; after a reload the server may have another database
      if (this.isFresh && sequence < this.base().sequence) return;
      if (!write(this.storageKey, state) && before) return; // no room: what it includes is still counted separately
      this.isFresh = true;
      this.first = state;
      keysWith(this.outbox.sentPrefix).forEach((entry) => remove(entry));
    };
  }

  // What was sent since the last count, or null while something is unsent.
  sent() {
    return this.outbox.waiting().length ? null : keysWith(this.outbox.sentPrefix).join("\n");
  }

  /** @returns {Count} */
  base() {
    const stored = read(this.storageKey);
    return Number.isInteger(stored?.items_done) ? stored : this.first ?? NOTHING;
  }

  now() {
    const base = this.base();
    const acts = new Map(); // an act that was sent and not yet removed is there twice
    const { prefix, sentPrefix } = this.outbox;
    for (const entry of keysWith(sentPrefix)) acts.set(entry.slice(sentPrefix.length), read(entry));
    for (const entry of this.outbox.waiting()) acts.set(entry.slice(prefix.length), read(entry));
    for (const act of base.holds ?? []) acts.delete(act);
    let done = base.items_done;
    for (const act of acts.values()) if (act?.turns === 0) done += act.act === "retract" ? -1 : 1;
    done = Math.max(0, Math.min(base.items, done));
    return { done, items: base.items, all: done === base.items && base.items_done === base.items && done > 0 };
  }
}
