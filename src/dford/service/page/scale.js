// The scale as a line: its thresholds, and where an item stands.

import { el, fill } from "./dom.js";

const HEIGHT = 76;
const LINE = 34;
const EDGE = 14; // room at both ends
const SURE = 8; // beyond this, in logits, nothing is told apart

// Where the item stands and where the thresholds are, in one unit. What a learner says of an item is, for each
// threshold, how likely the item is above it; as logits these are distances, which learners without a score have too.
export function standing(prediction, thresholds, levels) {
  if (!prediction.probabilities) return { at: prediction.score ?? 0, cuts: thresholds ?? [] };
  const shares = levels.map((level) => prediction.probabilities[level]);
  let above = 1;
  const distances = shares.slice(0, -1).map((share) => {
    above -= share;
    const logit = Math.log(Math.max(above, 1e-9) / Math.max(1 - above, 1e-9));
    return Math.max(-SURE, Math.min(SURE, logit));
  });
  const at = distances.reduce((sum, one) => sum + one, 0) / distances.length;
  return { at, cuts: distances.map((one) => at - one) };
}

export class Scale {
  constructor(levels) {
    this.levels = levels;
    this.ticks = levels.slice(1).map(() => el("line", { class: "cut", y1: LINE - 12, y2: LINE + 12 }));
    this.names = levels.map((level) => el("text", { y: LINE + 32, "text-anchor": "middle" }, level));
    this.dot = el("circle", { class: "dot", r: 9, cy: LINE });
    this.line = el("line", { class: "line", x1: EDGE, y1: LINE, y2: LINE });
    this.title = el("title", {});
    this.svg = el("svg", { class: "scale", role: "img", height: HEIGHT, width: "100%" },
      this.title, this.line, this.ticks, this.names, this.dot);
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(this.svg);
  }

  close() {
    this.size.disconnect();
  }

  show(place, asked) {
    this.place = place;
    this.asked = asked;
    this.draw();
  }

  draw() {
    const width = this.svg.clientWidth;
    const known = this.place && this.place.cuts.length === this.ticks.length;
    this.svg.classList.toggle("unknown", !known);
    if (!width) return;
    // before anything is known: levels of one width
    const { at, cuts } = known ? this.place : { at: 0, cuts: this.ticks.map((_, k) => k - (this.ticks.length - 1) / 2) };
    const ordered = [...cuts].sort((a, b) => a - b); // a learner's own may cross for a while
    const span = Math.max(ordered.at(-1) - ordered[0], 1);
    const room = (span / Math.max(ordered.length - 1, 1)) * 1.2 + 0.5;
    const [low, high] = [ordered[0] - room, ordered.at(-1) + room];
    const x = (value) => EDGE + ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * (width - 2 * EDGE);
    this.line.setAttribute("x2", width - EDGE);
    this.ticks.forEach((tick, k) => {
      tick.style.transform = `translateX(${x(cuts[k])}px)`;
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
    const below = cuts.filter((cut) => cut < at).length;
    fill(this.title, known ? `Predicted level: ${this.levels[below]}` : "No prediction for this item yet");
  }
}
