// What each person's answers say about them, in words for an admin who is not a statistician.

import { asProblem } from "./api.js";
import { el, fill, number } from "./dom.js";

/** @typedef {import("./project.js").Project} Project */

const OFTEN_WRONG = "Often wrong: more than one answer in five. Look at some of their answers, or talk to them.";
const DIFFERS = "Differs from the others in more than one answer in five. Look at some of their answers, or talk to them.";
const OFTEN = 0.2; // the share of wrong answers about items whose level is known
const FEW = 20; // answers; with fewer, nobody expects more to be known
const VAGUE = 0.25; // a wider interval says too little to be put into words

export class PeopleFigures {
  /**
   * @param {Project} project
   * @param {Element} box
   */
  constructor(project, box) {
    this.project = project;
    this.box = box;
    this.isAdmin = project.role === "admin";
    // until the server says that the learner has no placements
    this.isWanted = this.isAdmin || (project.role === "answer" && project.description.own_figures);
    this.own = el("div", {}); // below the counts, for people who only see their own figures
    if (!this.isAdmin) box.after(this.own);
    this.isAsking = false;
    /** @type {Server.People | null} */
    this.shown = null;
    /** @type {{ sequence: number, stale: boolean } | null} */
    this.latest = null; // what the figures include
  }

  // The server updates them now and then: show what it has, until it has learned everything.
  async refresh() {
    const { sequence } = this.project.state;
    const isLatest = this.latest?.sequence === sequence && !this.latest.stale;
    if (!this.isWanted || this.isAsking || !sequence || isLatest) return;
    this.isAsking = true;
    try {
      if (this.isAdmin) this.show(await this.project.send("GET", "/people"));
      else this.showOwn(await this.project.send("GET", "/people/mine"));
    } catch (error) {
      if (asProblem(error).code === "no-placements") this.isWanted = false;
    } finally {
      this.isAsking = false;
    }
  }

  /** @param {Server.People} shown */
  show(shown) {
    this.shown = this.latest = shown;
    if (shown.people.length) fillRows(this.box, shown.people);
  }

  /** @param {Server.Mine} mine */
  showOwn(mine) {
    this.latest = mine;
    if (mine.figures) fillRows(this.own, [mine.figures]);
  }
}

/**
 * What is open stays open.
 * @param {Element} box
 * @param {Server.Figures[]} people
 */
function fillRows(box, people) {
  const open = [...box.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-of"));
  fill(box, el("ul", { class: "people" }, people.map((one) => row(one, open.includes(one.name)))));
}

/**
 * @param {Server.Figures} figures
 * @param {boolean} open whether the details are shown
 */
function row(figures, open) {
  return el("li", {},
    el("p", {}, el("b", { dir: "auto" }, figures.name), " ", el("span", { class: "note" }, activity(figures))),
    figures.flag && tells(figures.error_rate) ? el("p", { class: "flag" }, inOneLine(figures)) : null,
    el("p", {}, inWords(figures)),
    el("details", { open, "data-of": figures.name }, el("summary", {}, "Figures"),
      el("dl", { class: "plain" }, details(figures).map(([term, value]) =>
        el("div", {}, el("dt", {}, term), el("dd", {}, value))))));
}

/** @param {Server.Figures} figures */
function activity({ answers, seconds_per_answer: seconds, latest }) {
  const pace = seconds === null || seconds < 0.05 || seconds >= 3600 ? null
    : seconds < 90 ? `about ${number(seconds, seconds < 10 ? 1 : 0)} s each` : `about ${number(seconds / 60, 0)} min each`;
  const last = latest && `last ${new Date(1000 * latest).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`;
  return [`${number(answers)} ${answers === 1 ? "answer" : "answers"}`, pace, last].filter(Boolean).join(" · ");
}

/**
 * Only what the answers really show.
 * @param {Server.Figures} figures
 */
export function inWords({ answers, agreement, error_rate: wrong, strictness, gold, judged }) {
  const said = [
    tells(agreement) && `agrees with the others in ${percent(agreement.value)} of the cases asked about again, mostly difficult ones`,
    tells(gold) && `right about ${percent(gold.value)} of the items whose level is known`,
    tells(wrong) && (tells(gold) || !agreement ? `about ${percent(wrong.value)} of the answers are wrong`
      : `differs from the others in about ${percent(wrong.value)} of the answers`),
    agreement && strictnessInWords(strictness), // without others, there is nobody to compare with
  ].filter(Boolean).join("; ");
  if (!said && answers < FEW) return "Too few answers to tell yet.";
  const alone = agreement ? "" : ", and nobody else has answered about the same items";
  const fewJudged = judged ? `only ${number(judged)}` : "none";
  if (!said) return `Too early to tell: ${fewJudged} of the ${number(answers)} answers could be judged${alone}.`;
  const few = tells(wrong) ? "" : ` Too early to tell how many are wrong: ${fewJudged} could be judged.`;
  return `${said[0].toUpperCase()}${said.slice(1)}.${few}`;
}

/**
 * Who is right can only be said where it is known; otherwise, people differ.
 * @param {Server.Figures} figures
 */
const inOneLine = ({ gold }) => (tells(gold) && gold.value < 1 - OFTEN ? OFTEN_WRONG : DIFFERS);

/** @param {Server.Estimate} strictness in levels */
function strictnessInWords({ value, low, high }) {
  if (low <= 0 && high >= 0) return low > -0.4 && high < 0.4 ? "about as strict as the others" : null;
  const much = Math.abs(value) < 0.35 ? "a little " : Math.abs(value) < 0.9 ? "" : "much ";
  return `${much}${value > 0 ? "stricter" : "more lenient"} than the others`;
}

/**
 * @param {Server.Estimate | null} figure
 * @returns {figure is Server.Estimate}
 */
const tells = (figure) => figure !== null && figure.high - figure.low <= VAGUE;

const percent = (/** @type {number} */ share) => `${number(100 * share, 0)}%`;

/**
 * @param {Server.Figures} figures
 * @returns {[string, string][]}
 */
function details({ judged, error_rate: wrong, strictness, agreement, gold }) {
  const share = (/** @type {Server.Estimate | null} */ figure) =>
    (figure ? `${percent(figure.value)} (between ${percent(figure.low)} and ${percent(figure.high)})` : "not known yet");
  return [
    ["Agrees with the others in cases asked about again", share(agreement)],
    ["Right about items whose level is known", share(gold)],
    ["Wrong answers", share(wrong)],
    ["Stricter than the others, in levels", `${number(strictness.value)} (between ${number(strictness.low)} and ${number(strictness.high)})`],
    ["The last two are based on", `${number(judged)} ${judged === 1 ? "answer" : "answers"}: audits, repeated questions and items whose level is known`],
  ];
}
