// What the answers show so far, updated while people answer.

import { asProblem } from "./api.js";
import { draw } from "./chart.js";
import { ContestedItems } from "./contested.js";
import { bdi, certainty, el, fill, number, setText } from "./dom.js";
import { imagePath, Images } from "./images.js";
import { imagesOf, summary } from "./item.js";
import { PeopleFigures } from "./people.js";
import { picture } from "./picture.js";

const PAUSE = 2000; // milliseconds between two looks
const ENOUGH = 50; // answers, before which no question is asked again
const CHECKED = 8; // items that people have to check before programs are not in doubt
const THUMBNAIL = 192; // pixels of its longer side: twice what is shown, for fine screens

/** @typedef {import("./project.js").Project} Project */

/**
 * @param {HTMLElement} main
 * @param {Project} project
 */
export function show(main, project) {
  const view = new WatchView(main, project);
  view.refresh();
  return () => view.close();
}

class WatchView {
  /**
   * @param {HTMLElement} main
   * @param {Project} project
   */
  constructor(main, project) {
    this.project = project;
    this.levels = project.description.levels;
    /** @type {Element[]} */
    const cards = [];
    /** @type {(title: string, note: string, className?: string) => Element} */
    const card = (title, note, className = "card") => {
      const box = el("div", {});
      cards.push(el("section", { class: className }, el("h2", {}, title), el("p", { class: "note" }, note), box));
      return box;
    };
    this.figures = el("ul", { class: "figures" });
    this.when = el("p", { class: "note" });
    this.note = el("p", { class: "note", role: "status" });
    this.placed = el("ul", { class: "placed" });
    this.doubt = el("p", { class: "note doubt", role: "status" });
    // if the pool chooses, only hard items are asked about, so the figures above are the ones that count
    this.byTurns = project.description.choice === "turns";
    this.error = !this.byTurns ? null : card("Error", "The mean error of all predictions so far, in levels. Each was made before its answer arrived. The true value stays inside the band at all times, with 95% confidence. No labels are needed.");
    this.thresholds = card("Thresholds", "Where one level ends and the next begins, in the learner's own units.");
    this.counts = card("Items at each level", "According to the answers so far.");
    const isAdmin = project.role === "admin";
    this.people = card("People", isAdmin ? "How each person answers." : "Answers given, including those undone later.", isAdmin ? "card whole" : "card");
    this.peopleFigures = new PeopleFigures(project, this.people);
    const contested = isAdmin ? card("Contested items", "People contradict each other most about these. Settle those you know: a settled level stands, whatever the answers say.", "card whole") : null;
    this.unsure = card("Least certain items", "Another answer helps most here.", "card whole");
    fill(main, el("h1", { tabindex: "-1" }, "Watch"), this.note, this.figures, this.placed, this.doubt,
      el("div", { class: "cards" }, cards), this.when);
    /** @type {string | null} */
    this.seen = null; // identifies the state shown, once all of it is learned
    /** @type {Server.Levels | null} */
    this.shown = null;
    this.images = new Images(project, THUMBNAIL);
    this.contested = contested && new ContestedItems(project, contested, new Images(project, THUMBNAIL));
    this.timer = 0;
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.refresh(); }, { signal });
    addEventListener("resize", () => this.showState(this.project.state), { signal });
    project.addEventListener("forecast", () => this.showPlaced(), { signal });
    this.showState(project.state);
  }

  close() {
    this.listeners.abort();
    clearTimeout(this.timer);
    this.images.close();
    this.contested?.images.close();
  }

  async refresh() {
    clearTimeout(this.timer);
    let pause = PAUSE;
    try {
      await this.project.refresh();
      const { state } = this.project;
      this.peopleFigures.refresh(); // may take a while; nothing waits for it
      this.contested?.refresh();
      const seen = `${state.learned}/${state.items}/${state.items_done}/${state.sequence}/${state.stale}`;
      if (seen !== this.seen) {
        this.showState(state);
        /** @type {Server.Levels} */
        const levels = await this.project.send("GET", "/levels");
        this.showLevels(levels);
        this.showNote(state, levels);
        // while something is still being learned, look again
        this.seen = state.learned === state.sequence && !state.stale && !levels.stale ? seen : null;
      }
      this.when.textContent = `Updated ${new Date().toLocaleTimeString()} · refreshes automatically`;
    } catch (error) {
      const problem = asProblem(error);
      this.project.setProblem(problem);
      this.when.textContent = `${problem.words}. This page tries again automatically.`;
      pause = problem.pause(PAUSE);
    }
    clearTimeout(this.timer);
    if (!this.listeners.signal.aborted && !document.hidden) this.timer = setTimeout(() => this.refresh(), pause);
  }

  /**
   * @param {Server.State} state
   * @param {Server.Levels} levels
   */
  showNote({ stale, learned, sequence }, levels) {
    if (stale || levels.stale) setText(this.note, "An answer was undone. These figures still include it until the server has learned again without it.");
    else if (learned < sequence) setText(this.note, `The server is still learning: ${number(learned)} of ${number(sequence)} so far.`);
    else setText(this.note, "");
  }

  /** @param {Server.State} state */
  showState(state) {
    const most = this.levels.length - 1; // no error is larger, whatever the first answers suggest
    const within = (/** @type {number} */ value) => Math.min(value, most);
    const mae = state.mae && { ...state.mae, high: within(state.mae.high) };
    const lately = secondHalf(state.curve);
    fill(this.figures,
      figure(number(state.answers), "answers"),
      figure(`${number(state.items_done)} of ${number(state.items)}`, "items done"),
      figure(number(state.open), "open questions"),
      !this.byTurns ? null
        : mae ? figure(`${number(mae.value)} levels`, `mean error so far (between ${number(mae.low)} and ${number(mae.high)})`)
          : figure("–", "mean error not known yet"),
      lately === null || !this.byTurns ? null : figure(`${number(lately)} levels`, "mean error over the second half of the answers"));
    if (this.error) draw(this.error, {
      label: mae ? `Mean error over answers: now ${number(mae.value)} levels, between ${number(mae.low)} and ${number(mae.high)}` : "Mean error",
      names: ["Error"], least: 0,
      rows: state.curve.map(({ answers, value, low, high }) =>
        ({ answers, values: [within(value)], low, high: within(high) })),
    });
    this.showThresholds(state);
    const people = Object.entries(state.people).sort((a, b) => b[1] - a[1]);
    if (!this.peopleFigures.shown) fill(this.people, people.length ? bars(people, "Person", "Answers") : nothing("No answers yet."));
  }

  /** @param {Server.State} state */
  showThresholds({ answers: given, history }) {
    if (given && !history.length) {
      fill(this.thresholds, nothing("This learner has no thresholds. It predicts probabilities for each item."));
      return;
    }
    draw(this.thresholds, {
      label: "Thresholds over answers",
      names: this.levels.slice(1).map((level, k) => `${this.levels[k]} | ${level}`),
      rows: history.map(({ answers, thresholds }) => ({ answers, values: thresholds })),
    });
  }

  // How far the items are from the right levels now, as expected and according to the audit.
  showPlaced() {
    const { forecast, state: { answers, people } } = this.project;
    const levels = this.shown;
    if (!levels || levels.expected_error === null) return;
    const { expected_error: expected, audit, error_rate: rate } = levels;
    fill(this.placed,
      figure(`${number(expected)} levels`, audit
        ? `off on average, and at most ${number(audit.error.high)} with 95% confidence`
        : "off on average, as expected"),
      audit ? figure(`at least ${number(100 * audit.right.low, 0)}%`, `of the items are at their right level, with 95% confidence: ${number(audit.checked)} drawn at random and checked, ${number(audit.wrong)} wrong`) : null,
      forecast && (forecast.answers.value
        ? figure(`about ${number(Math.ceil(forecast.answers.value))}`, `more ${Math.ceil(forecast.answers.value) === 1 ? "answer" : "answers"} to ${forecast.certified === null ? "reach" : "show"} ${number(forecast.target)} levels`)
        : figure("enough", `answers ${forecast.certified ? "to show" : "for"} ${number(forecast.target)} levels`)),
      // with several people, each has a rate below; with few answers, there is only an assumption
      answers >= ENOUGH && Object.keys(people).length < 2 ? figure(`${number(100 * (rate ?? 0), 0)}%`, "of answers estimated to be wrong") : null);
    setText(this.doubt, (audit?.checked ?? 0) < CHECKED && levels.programs ? `Programs gave ${number(100 * levels.programs, 0)}% of the answers, and people have not audited enough to check them. The expected error holds only if the programs are right.`
      : "");
  }

  /** @param {Server.Levels} levels */
  showLevels(levels) {
    const { counts, unsure, items } = levels;
    this.shown = levels;
    this.showPlaced();
    /** @type {[string, number][]} */
    const pairs = this.levels.map((level) => [level, counts[level]]);
    fill(this.counts, items ? bars(pairs, "Level", "Items") : nothing("No items yet."));
    fill(this.unsure, unsure.length ? this.unsureList(unsure) : nothing("No items yet."));
  }

  /** @param {Server.Unsure[]} unsure */
  unsureList(unsure) {
    const { description } = this.project;
    this.images.fetchAhead(unsure.flatMap(({ item, shown }) =>
      imagesOf(description, shown).map(({ column }) => imagePath(item, column))));
    return el("ul", { class: "unsure" }, unsure.map(({ item, shown, level, probabilities, sureness }) => el("li", {},
      imagesOf(description, shown).map((image) => picture(this.images, item, image)),
      el("p", { dir: "auto", class: "shown" }, summary(description, shown)),
      el("p", { class: "note" }, el("a", { href: `#/${this.project.name}/answer?item=${item}` }, `Item ${number(item)}`), " · ", bdi(level), " · ",
        probabilities ? certainty(sureness) : `${number(sureness)} from a threshold`))));
  }
}

/** @type {(value: string, name: string) => Element} */
const figure = (value, name) => el("li", {}, el("b", {}, value), " ", name);

const nothing = (/** @type {string} */ sentence) => el("p", { class: "nothing" }, sentence);

/**
 * The mean error so far includes the first guesses. This is the error after the checkpoint nearest to the middle.
 * @param {Server.Point[]} curve
 */
function secondHalf(curve) {
  const last = curve.at(-1);
  if (!last || last.answers < 100) return null;
  const fromMiddle = (/** @type {Server.Point} */ { answers }) => Math.abs(2 * answers - last.answers);
  const half = curve.reduce((best, one) => (fromMiddle(one) < fromMiddle(best) ? one : best));
  return Math.max(0, (last.answers * last.value - half.answers * half.value) / (last.answers - half.answers));
}

/**
 * @param {[string, number][]} pairs
 * @param {string} first the headings
 * @param {string} second
 */
function bars(pairs, first, second) {
  const most = Math.max(...pairs.map(([, count]) => count), 1);
  return el("table", { class: "bars" },
    el("thead", { class: "unseen" }, el("tr", {}, el("th", { scope: "col" }, first), el("th", { scope: "col" }, second))),
    el("tbody", {}, pairs.map(([name, count]) => el("tr", {},
      el("th", { scope: "row", dir: "auto" }, name),
      el("td", {}, el("meter", { min: 0, max: most, value: count, "aria-hidden": "true" }), number(count))))));
}
