// How many items are done: what the server counted last, and what this browser has done that is not in it.
//
// A state may or may not hold an act that was under way while it was asked for, and does not say (a skip has no place
// in the log). So a state is counted from only if nothing was under way from before it was asked for until it came:
// then everything that was sent is in it. Both are in the storage, where all windows of this browser count alike.

import { keysWith, read, remove, write } from "./storage.js";

/**
 * What to count from; `holds` are the acts of this browser that are in it. They are removed a moment later, and another
 * window may look in between.
 *
 * @typedef {Pick<Server.State, "items" | "items_done" | "sequence"> & { holds?: string[] }} Count
 */

/** @type {Count} */
const NOTHING = { items: 0, items_done: 0, sequence: 0 };

export class Progress {
  /**
   * @param {import("./outbox.js").Outbox} outbox
   * @param {Count | null} before what to count from where nothing is stored
   */
  constructor(outbox, before) {
    this.outbox = outbox;
    this.storageKey = `dford.count.${outbox.project}`;
    this.first = before;
    this.isFresh = false; // whether the server was heard of since the page was opened
  }

  // Call it before a state is asked for, and what it returns with the state.
  begin() {
    const before = this.sent();
    return (/** @type {Count} */ { items, items_done, sequence }) => {
      const holds = before ? before.split("\n").map((entry) => entry.slice(this.outbox.sentPrefix.length)) : [];
      const state = { items, items_done, sequence, holds };
      this.first ??= { items, items_done, sequence };
      if (before === null || before !== this.sent()) return;
      // two windows may hear of two states in the wrong order; after a reload the server may have another database
      if (this.isFresh && sequence < this.base().sequence) return;
      if (!write(this.storageKey, state) && before) return; // no room: what it holds already is still counted apart
      this.isFresh = true;
      this.first = state;
      keysWith(this.outbox.sentPrefix).forEach((entry) => remove(entry));
    };
  }

  // What was sent since the last count, or null while something is not.
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
    const acts = new Map(); // one that was sent and is not yet removed is there twice
    for (const prefix of [this.outbox.sentPrefix, this.outbox.prefix])
      for (const entry of keysWith(prefix)) acts.set(entry.slice(prefix.length), read(entry));
    for (const act of base.holds ?? []) acts.delete(act);
    let done = base.items_done;
    for (const act of acts.values()) if (act?.turns === 0) done += act.act === "retract" ? -1 : 1;
    done = Math.max(0, Math.min(base.items, done));
    return { done, items: base.items, all: done === base.items && base.items_done === base.items && done > 0 };
  }
}
