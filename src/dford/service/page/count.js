// How many items are done: what the server counted last, and what this browser has done that is not in it.
//
// A state may or may not hold an act that was under way while it was asked for, and does not say (a skip has no place in
// the log). So a state is counted from only if nothing was under way from before it was asked for until it came: then
// everything that was sent is in it. Both are in the storage, where all windows of this browser count alike.

import { keysWith, read, remove, write } from "./storage.js";

export class Count {
  constructor(outbox, before) {
    this.outbox = outbox;
    this.shelf = `dford.count.${outbox.project}`;
    this.first = before ?? null; // what to count from where nothing is stored
    this.fresh = false;
  }

  // Call it before a state is asked for, and what it returns with the state.
  begin() {
    const before = this.sent();
    return ({ items, items_done, sequence }) => {
      const state = { items, items_done, sequence };
      this.first ??= state;
      if (before === null || before !== this.sent()) return;
      // two windows may hear of two states in the wrong order; after a reload the server may have another database
      if (this.fresh && sequence < this.base().sequence) return;
      if (!write(this.shelf, state) && before) return; // no room: what it holds already is still counted apart
      this.fresh = true;
      this.first = state;
      keysWith(this.outbox.sentPrefix).forEach((entry) => remove(entry));
    };
  }

  // What was sent since the last count, or null while something is not.
  sent() {
    return this.outbox.waiting().length ? null : keysWith(this.outbox.sentPrefix).join();
  }

  base() {
    const stored = read(this.shelf);
    return Number.isInteger(stored?.items_done) ? stored : this.first;
  }

  now() {
    const base = this.base();
    const acts = new Map();
    for (const prefix of [this.outbox.sentPrefix, this.outbox.prefix])
      for (const entry of keysWith(prefix)) acts.set(entry.slice(prefix.length), read(entry));
    let done = base.items_done;
    for (const act of acts.values()) if (act?.turns === 0) done += act.act === "retract" ? -1 : 1;
    done = Math.max(0, Math.min(base.items, done));
    return { done, items: base.items, all: done === base.items && base.items_done === base.items && done > 0 };
  }
}
