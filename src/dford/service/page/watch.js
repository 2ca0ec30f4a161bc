// What the answers show so far, and it moves while people answer.

import { draw } from "./chart.js";
import { el, fill, number } from "./dom.js";
import { textsOf } from "./project.js";

const EVERY = 2000; // milliseconds

export function show(main, project) {
  const view = new Watch(main, project);
  view.look();
  return () => view.close();
}

class Watch {
  constructor(main, project) {
    this.project = project;
    this.levels = project.description.levels;
    const part = (title, note, wide = false) => {
      const box = el("div", {});
      parts.push(el("section", { class: wide ? "card whole" : "card" }, el("h2", {}, title), el("p", { class: "note" }, note), box));
      return box;
    };
    const parts = [];
    this.figures = el("ul", { class: "figures" });
    this.when = el("p", { class: "note" });
    this.error = part("Error", "The mean of all predictions so far, each made before its answer, in levels. With 95% confidence the truth is in the band, at all times at once; no label is needed.");
    this.cuts = part("Thresholds", "Where one level ends and the next begins, in the learner's own units.");
    this.counts = part("Items at each level", "As the learner places them now.");
    this.people = part("People", "Answers given, also those taken back later.");
    this.unsure = part("Least sure of", "A second answer says most about these.", true);
    fill(main, el("h1", { tabindex: "-1" }, "Watch"), this.figures, el("div", { class: "cards" }, parts), this.when);
    this.ears = new AbortController();
    document.addEventListener("visibilitychange", () => document.hidden || this.look(), this.ears);
    addEventListener("resize", () => this.show(this.project.state), this.ears);
    this.show(project.state);
  }

  close() {
    this.ears.abort();
    clearTimeout(this.timer);
  }

  async look() {
    clearTimeout(this.timer);
    try {
      const state = await this.project.send("GET", "/state");
      const seen = `${state.learned}/${state.items}/${state.sequence}`;
      this.project.state = state;
      this.project.reached(true);
      if (seen !== this.seen) {
        this.show(state);
        this.place(await this.project.send("GET", "/levels"));
        this.seen = state.learned === state.sequence ? seen : null; // what is still being learned is looked at again
      }
      this.when.textContent = `Looked at ${new Date().toLocaleTimeString()}; it looks again by itself.`;
    } catch (problem) {
      if (!("passing" in problem)) throw problem;
      this.project.reached(false);
      this.when.textContent = problem.sentence;
    }
    if (!this.ears.signal.aborted && !document.hidden) this.timer = setTimeout(() => this.look(), EVERY);
  }

  show(state) {
    const { mae } = state;
    const lately = secondHalf(state.curve);
    const figure = (value, name) => el("li", {}, el("b", {}, value), " ", name);
    fill(this.figures,
      figure(number(state.answers), "answers"),
      figure(`${number(state.items_done)} of ${number(state.items)}`, "items done"),
      figure(number(state.open), "questions open"),
      figure(mae ? `${number(mae.value)} levels` : "–", mae ? `off so far, between ${number(mae.low)} and ${number(mae.high)}` : "error not known yet"),
      lately === null ? null : figure(`${number(lately)} levels`, "off in the second half of the answers"));
    const most = this.levels.length - 1; // no error is larger, whatever a few answers show
    const within = (value) => Math.min(value, most);
    draw(this.error, {
      label: mae ? `Mean error over answers: now ${number(mae.value)} levels, between ${number(mae.low)} and ${number(mae.high)}` : "Mean error",
      names: ["Error"], least: 0,
      rows: state.curve.map(({ answers, value, low, high }) => ({ answers, values: [within(value)], low, high: within(high) })),
    });
    const between = this.levels.slice(1).map((level, k) => `${this.levels[k]} | ${level}`);
    if (state.answers && !state.history.length) fill(this.cuts, el("p", { class: "nothing" }, "This learner has no thresholds: each item has probabilities of its own."));
    else draw(this.cuts, {
      label: "Thresholds over answers", names: between,
      rows: state.history.map(({ answers, thresholds }) => ({ answers, values: thresholds })),
    });
    const people = Object.entries(state.people).sort((a, b) => b[1] - a[1]);
    fill(this.people, people.length ? bars(people, "Person", "Answers") : el("p", { class: "nothing" }, "Nobody has answered yet."));
  }

  place({ counts, unsure, items }) {
    fill(this.counts, items ? bars(this.levels.map((level) => [level, counts[level]]), "Level", "Items")
      : el("p", { class: "nothing" }, "There are no items yet."));
    fill(this.unsure, unsure.length ? el("div", { class: "wide" }, el("table", { class: "unsure" },
      el("thead", {}, el("tr", {}, ["Item", "Shown", "Level", "Sure"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, unsure.map((one) => el("tr", {},
        el("td", {}, number(one.item)), el("td", { dir: "auto", class: "shown" }, this.short(one.shown)),
        el("td", {}, one.level),
        el("td", {}, one.probabilities ? `${number(100 * one.sureness, 0)}%` : `${number(one.sureness)} from a threshold`))))))
      : el("p", { class: "nothing" }, "There are no items yet."));
  }

  short(shown) {
    const text = textsOf(this.project.description).map((name) => shown[name]).find(Boolean) ?? Object.entries(shown).map((pair) => pair.join(" ")).join(", ");
    return String(text).length > 160 ? `${String(text).slice(0, 160)}…` : String(text);
  }
}

// The mean error so far has the first guesses in it. What came after the checkpoint nearest to the middle, by itself:
function secondHalf(curve) {
  const last = curve.at(-1);
  if (!last || last.answers < 100) return null;
  const half = curve.reduce((best, one) => (Math.abs(2 * one.answers - last.answers) < Math.abs(2 * best.answers - last.answers) ? one : best));
  return Math.max(0, (last.answers * last.value - half.answers * half.value) / (last.answers - half.answers));
}

function bars(pairs, first, second) {
  const most = Math.max(...pairs.map(([, count]) => count), 1);
  return el("table", { class: "bars" },
    el("thead", { class: "unseen" }, el("tr", {}, el("th", { scope: "col" }, first), el("th", { scope: "col" }, second))),
    el("tbody", {}, pairs.map(([name, count]) => el("tr", {},
      el("th", { scope: "row", dir: "auto" }, name),
      el("td", {}, el("meter", { min: 0, max: most, value: String(count), "aria-hidden": "true" }), number(count))))));
}
