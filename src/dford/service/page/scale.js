// The scale as a line, with its thresholds and the position of an item.

import { fill, svgEl } from "./dom.js";

const HEIGHT = 76;
const LINE = 34;
const EDGE = 14; // room at both ends
const SURE = 8; // logits beyond this are not told apart

/** @typedef {{ at: number, thresholds: number[] }} Position of an item on the scale */

/**
 * The positions of the item and of the thresholds, in one unit. For each threshold, a learner gives the probability
 * that the item is above it; as logits these are distances, which learners without a score have too.
 * @param {Server.Prediction} prediction
 * @param {number[] | null} thresholds
 * @param {string[]} levels
 * @returns {Position}
 */
export function position({ probabilities, score }, thresholds, levels) {
  if (!probabilities) return { at: score ?? 0, thresholds: thresholds ?? [] };
  const shares = levels.map((level) => probabilities[level]);
  let above = 1;
  const distances = shares.slice(0, -1).map((share) => {
    above -= share;
    const logit = Math.log(Math.max(above, 1e-9) / Math.max(1 - above, 1e-9));
    return Math.max(-SURE, Math.min(SURE, logit));
  });
  const at = distances.reduce((sum, one) => sum + one, 0) / distances.length;
  return { at, thresholds: distances.map((one) => at - one) };
}

export class Scale {
  /** @param {string[]} levels */
  constructor(levels) {
    /** @type {Position | null} */
    this.position = null;
    /** @type {number | null} */
    this.asked = null; // the threshold that the question is about
    this.levels = levels;
    this.ticks = levels.slice(1).map(() => svgEl("line", { class: "cut", y1: LINE - 12, y2: LINE + 12 }));
    this.names = levels.map((level) => svgEl("text", { y: LINE + 32, "text-anchor": "middle" }, level));
    this.dot = svgEl("circle", { class: "dot", r: 9, cy: LINE });
    this.line = svgEl("line", { class: "line", x1: EDGE, y1: LINE, y2: LINE });
    this.title = svgEl("title", {});
    this.svg = svgEl("svg", { class: "scale", role: "img", height: HEIGHT, width: "100%" },
      this.title, this.line, this.ticks, this.names, this.dot);
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(this.svg);
  }

  close() {
    this.size.disconnect();
  }

  /**
   * @param {Position | null} itemPosition null if nothing is known about it
   * @param {number} asked
   */
  show(itemPosition, asked) {
    this.position = itemPosition;
    this.asked = asked;
    this.draw();
  }

  draw() {
    const width = this.svg.clientWidth;
    const known = this.position?.thresholds.length === this.ticks.length ? this.position : null;
    this.svg.classList.toggle("unknown", !known);
    if (!width) return;
    const evenly = this.ticks.map((_, k) => k - (this.ticks.length - 1) / 2); // before anything is known
    const { at, thresholds } = known ?? { at: 0, thresholds: evenly };
    const ordered = [...thresholds].sort((a, b) => a - b); // a learner's thresholds may cross for a while
    const [lowest, highest] = [ordered[0], ordered[ordered.length - 1]];
    const margin = (Math.max(highest - lowest, 1) / Math.max(ordered.length - 1, 1)) * 1.2 + 0.5;
    const [low, high] = [lowest - margin, highest + margin];
    const x = (/** @type {number} */ value) =>
      EDGE + ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * (width - 2 * EDGE);
    this.line.setAttribute("x2", String(width - EDGE));
    this.ticks.forEach((tick, k) => {
      tick.style.transform = `translateX(${x(thresholds[k])}px)`;
      tick.classList.toggle("asked", k === this.asked);
    });
    const edges = [EDGE, ...ordered.map(x), width - EDGE];
    this.names.forEach((name, k) => {
      const room = edges[k + 1] - edges[k];
      name.style.transform = `translateX(${(edges[k] + edges[k + 1]) / 2}px)`;
      fill(name, this.levels[k]);
      const fits = Math.floor((this.levels[k].length * (room - 6)) / name.getComputedTextLength());
      if (this.levels[k].length > fits) fill(name, fits > 3 ? `${this.levels[k].slice(0, fits - 1)}…` : "");
    });
    this.dot.style.transform = `translateX(${x(at)}px)`;
    const below = thresholds.filter((threshold) => threshold < at).length;
    fill(this.title, known ? `Predicted level: ${this.levels[below]}` : `The scale: ${this.levels.join(", ")}`);
  }
}
