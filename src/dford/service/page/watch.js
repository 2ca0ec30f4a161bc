// What the answers show so far, and it moves while people answer.

import { Problem } from "./api.js";
import { draw } from "./chart.js";
import { el, fill, number, wide } from "./dom.js";
import { short } from "./project.js";

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
    this.note = el("p", { class: "note", role: "status" });
    this.error = part("Error", "The mean error of all predictions so far, in levels. Each was made before its answer. With 95% confidence the true value stays inside the band, at all times. No labels are needed.");
    this.cuts = part("Thresholds", "Where one level ends and the next begins, in the learner's own units.");
    this.counts = part("Items at each level", "Where the learner places them now.");
    this.people = part("People", "Answers given, including those undone later.");
    this.unsure = part("Least certain items", "Another answer helps most here.", true);
    fill(main, el("h1", { tabindex: "-1" }, "Watch"), this.note, this.figures, el("div", { class: "cards" }, parts), this.when);
    this.listeners = new AbortController();
    document.addEventListener("visibilitychange", () => document.hidden || this.look(), this.listeners);
    addEventListener("resize", () => this.show(this.project.state), this.listeners);
    this.show(project.state);
  }

  close() {
    this.listeners.abort();
    clearTimeout(this.timer);
  }

  async look() {
    clearTimeout(this.timer);
    let pause = EVERY;
    try {
      await this.project.refresh();
      const { state } = this.project;
      const seen = `${state.learned}/${state.items}/${state.items_done}/${state.sequence}/${state.stale}`;
      if (seen !== this.seen) {
        this.show(state);
        const levels = await this.project.send("GET", "/levels");
        this.place(levels);
        this.say(state, levels);
        // what is still being learned is looked at again
        this.seen = state.learned === state.sequence && !state.stale && !levels.stale ? seen : null;
      }
      this.when.textContent = `Updated ${new Date().toLocaleTimeString()} · refreshes automatically`;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.project.reached(problem);
      this.when.textContent = `${problem.words}. This page tries again automatically.`;
      pause = problem.pause(EVERY);
    }
    clearTimeout(this.timer);
    if (!this.listeners.signal.aborted && !document.hidden) this.timer = setTimeout(() => this.look(), pause);
  }

  say(state, levels) {
    const text = state.stale || levels.stale ? "An answer was undone. These figures still include it until the server has learned again without it."
      : state.learned < state.sequence ? `The server is still learning: ${number(state.learned)} of ${number(state.sequence)} so far.` : "";
    if (this.note.textContent !== text) this.note.textContent = text;
  }

  show(state) {
    const most = this.levels.length - 1; // no error is larger, whatever a few answers show
    const within = (value) => Math.min(value, most);
    const mae = state.mae && { ...state.mae, high: within(state.mae.high) };
    const lately = secondHalf(state.curve);
    const figure = (value, name) => el("li", {}, el("b", {}, value), " ", name);
    fill(this.figures,
      figure(number(state.answers), "answers"),
      figure(`${number(state.items_done)} of ${number(state.items)}`, "items done"),
      figure(number(state.open), "open questions"),
      figure(mae ? `${number(mae.value)} levels` : "–", mae ? `mean error so far (between ${number(mae.low)} and ${number(mae.high)})` : "mean error not known yet"),
      lately === null ? null : figure(`${number(lately)} levels`, "mean error over the second half of the answers"));
    draw(this.error, {
      label: mae ? `Mean error over answers: now ${number(mae.value)} levels, between ${number(mae.low)} and ${number(mae.high)}` : "Mean error",
      names: ["Error"], least: 0,
      rows: state.curve.map(({ answers, value, low, high }) => ({ answers, values: [within(value)], low, high: within(high) })),
    });
    const between = this.levels.slice(1).map((level, k) => `${this.levels[k]} | ${level}`);
    if (state.answers && !state.history.length) fill(this.cuts, el("p", { class: "nothing" }, "This learner has no thresholds. It predicts probabilities for each item."));
    else draw(this.cuts, {
      label: "Thresholds over answers", names: between,
      rows: state.history.map(({ answers, thresholds }) => ({ answers, values: thresholds })),
    });
    const people = Object.entries(state.people).sort((a, b) => b[1] - a[1]);
    fill(this.people, people.length ? bars(people, "Person", "Answers") : el("p", { class: "nothing" }, "No answers yet."));
  }

  place({ counts, unsure, items }) {
    fill(this.counts, items ? bars(this.levels.map((level) => [level, counts[level]]), "Level", "Items")
      : el("p", { class: "nothing" }, "No items yet."));
    fill(this.unsure, unsure.length ? wide("Least certain items", el("table", { class: "unsure" },
      el("thead", {}, el("tr", {}, ["Item", "Content", "Level", "Certainty"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, unsure.map((one) => el("tr", {},
        el("td", {}, number(one.item)), el("td", { dir: "auto", class: "shown" }, short(this.project.description, one.shown)),
        el("td", {}, one.level),
        el("td", {}, one.probabilities ? `${number(100 * one.sureness, 0)}%` : `${number(one.sureness)} from a threshold`))))))
      : el("p", { class: "nothing" }, "No items yet."));
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
