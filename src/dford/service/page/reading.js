// A box whose text may be longer than it: keys scroll it wherever the focus is, and a hint shows that there is more.

import { el } from "./dom.js";

const OVERLAP = 80; // pixels of a page that are shown again on the next one: more than the hint covers

/** @type {Record<string, number>} */
const PAGES_OF_KEY = { " ": 1, PageDown: 1, PageUp: -1, Home: -Infinity, End: Infinity };

export class Reading {
  /**
   * @param {HTMLElement} box
   * @param {(hasMore: boolean) => void} changed called with whether there is more below
   */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    this.hint = el("p", { class: "more", "aria-hidden": "true", hidden: true },
      el("span", {}, "More below ", el("kbd", {}, "↓"), " ", el("kbd", {}, "Space")));
    this.frame = el("div", { class: "reading" }, box, this.hint);
    box.addEventListener("scroll", () => this.update());
    this.observer = new ResizeObserver(() => this.update());
    this.observer.observe(box);
  }

  close() {
    this.observer.disconnect();
  }

  get isLong() {
    return this.box.scrollHeight > this.box.clientHeight + 1;
  }

  get hasMore() {
    return this.box.scrollHeight - this.box.clientHeight - this.box.scrollTop > 1;
  }

  // Call this when the box was filled.
  update() {
    this.hint.hidden = !this.hasMore;
    this.changed(this.hasMore);
  }

  /**
   * Whether the key turned a page. If there is nothing to turn, it does what it does elsewhere.
   * @param {KeyboardEvent} event
   */
  keyPressed({ key, shiftKey, target }) {
    const isSpace = key === " ";
    if (shiftKey && !isSpace) return false;
    if (isSpace && /** @type {Element} */ (target).closest("button, a, summary")) return false;
    return this.turn((PAGES_OF_KEY[key] ?? 0) * (shiftKey ? -1 : 1));
  }

  /**
   * Turn some pages forwards or back; returns whether there were any.
   * @param {number} pages
   */
  turn(pages) {
    if (!pages) return false;
    const { box } = this;
    const before = box.scrollTop;
    const page = Math.max(box.clientHeight - OVERLAP, box.clientHeight / 2);
    box.scrollTop = Math.max(0, Math.min(before + pages * page, box.scrollHeight));
    return box.scrollTop !== before;
  }
}
