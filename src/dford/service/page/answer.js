// One item, one question, one key press.

import { asProblem } from "./api.js";
import { bdi, el, fill, notice, number, say, setText } from "./dom.js";
import { imagePath, Images } from "./images.js";
import * as item from "./item.js";
import { picture } from "./picture.js";
import { Questions } from "./questions.js";
import { Reading } from "./reading.js";
import { RecentActs } from "./recent-acts.js";
import { position, Scale } from "./scale.js";
import { Zoom } from "./zoom.js";

/** @type {Record<string, string>} */
const WHY = {
  "nothing-to-ask": "All items are settled or assigned to other people right now, or there are none yet. This page checks again automatically.",
  "catching-up": "Questions will appear here when it has finished. Your answers are safe.",
  "no-network": "Questions will appear here once it can be reached.",
  "no-key": "Open your invitation link again, or reload this page to enter a key.",
};

/**
 * @typedef {"no" | "yes" | "skip" | "undo"} Action
 * @typedef {import("./project.js").Project} Project
 */

/** @type {Record<string, Action>} */
const ACTION_OF_KEY = { ArrowLeft: "no", ArrowRight: "yes", ArrowDown: "skip", ArrowUp: "undo" };

const KEYS = 9; // of the digits, for as many levels

/**
 * @param {HTMLElement} main
 * @param {Project} project
 * @param {number | null} about the item to begin with
 */
export function show(main, project, about) {
  const view = new AnswerView(main, project, about);
  return () => view.close();
}

class AnswerView {
  /**
   * @param {HTMLElement} main
   * @param {Project} project
   * @param {number | null} about
   */
  constructor(main, project, about) {
    this.project = project;
    this.levels = project.description.levels;
    this.questions = new Questions(project);
    if (about) this.questions.askAbout(about);
    /** @type {Server.QuestionOut | undefined} */
    this.shown = undefined; // the question on the page
    this.recent = new RecentActs(project);
    this.images = new Images(project);

    this.meaningOfNo = el("small", {});
    this.meaningOfYes = el("small", {});
    this.no = this.button("no", "ArrowLeft", "←", el("b", {}, "No"), this.meaningOfNo);
    this.yes = this.button("yes", "ArrowRight", "→", el("b", {}, "Yes"), this.meaningOfYes);
    this.skip = this.button("skip", "ArrowDown", "↓", "Skip");
    this.undo = this.button("undo", "ArrowUp", "↑", "Undo");
    this.rates = project.description.ratings ? this.levels.map((level, place) => this.rateButton(level, place)) : [];
    this.scale = new Scale(this.levels);
    this.bar = el("progress", { "aria-label": "Items done" });
    this.counts = el("p", { class: "counts" });
    this.item = el("section", { class: "item", "aria-label": "Item", tabindex: "0" });
    this.reading = new Reading(this.item, (hasMore) => this.showKeyOfSkip(!hasMore));
    this.zoom = new Zoom(this.item, () => this.reading.update());
    this.reading.frame.append(this.zoom.button);
    this.heading = el("h1", { tabindex: "-1", class: "question" });
    this.last = el("p", { class: "last" });
    fill(main, el("div", { class: item.hasImages(project.description) ? "answer pictured" : "answer" },
      el("div", { class: "progress" }, this.bar, this.counts),
      this.scale.svg, this.reading.frame, this.heading,
      el("div", { class: "buttons", role: "group", "aria-label": "Your answer" }, this.no, this.yes),
      this.rates.length ? el("div", { class: "rates", role: "group", "aria-label": "Or give its level" }, this.rates) : null,
      el("div", { class: "less" }, this.undo, this.last, this.skip)));

    this.listeners = new AbortController();
    this.listen(this.listeners.signal);
    this.showQuestion();
    this.questions.fetch();
  }

  /**
   * @param {Action} action
   * @param {string} key
   * @param {string} arrow
   * @param {import("./dom.js").Child[]} label
   */
  button(action, key, arrow, ...label) {
    return el("button", { type: "button", class: action, onclick: () => this.act(action), "aria-keyshortcuts": key },
      el("span", { class: "label" }, label), el("kbd", { "aria-hidden": "true" }, arrow));
  }

  /**
   * @param {string} level
   * @param {number} place on the scale, from 0
   */
  rateButton(level, place) {
    const key = place < KEYS ? String(place + 1) : null;
    return el("button", { type: "button", onclick: () => this.give({ rating: level }), "aria-keyshortcuts": key },
      key && el("kbd", { "aria-hidden": "true" }, key), bdi(level));
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const { project, questions } = this;
    document.addEventListener("keydown", (event) => this.keyPressed(event), { signal });
    project.addEventListener("state", () => { this.showCounts(); this.showPosition(); }, { signal });
    project.addEventListener("forecast", () => this.showCounts(), { signal });
    project.outbox.addEventListener("change", () => this.showCounts(), { signal });
    project.outbox.addEventListener("refused", (event) => { // for good, so it cannot be undone
      this.recent.remove(/** @type {CustomEvent<string>} */ (event).detail);
      this.showLastAct();
    }, { signal });
    questions.addEventListener("change", () => {
      if (!this.shown || this.shown !== questions.current()) this.showQuestion();
      this.fetchImages();
    }, { signal });
  }

  close() {
    this.questions.close();
    this.listeners.abort();
    this.scale.close();
    this.reading.close();
    this.images.close();
  }

  // For the question on the page, and for those that come next.
  fetchImages() {
    const { description } = this.project;
    this.images.fetchAhead(this.questions.ahead.flatMap(({ item: of, shown }) =>
      (of === null ? [] : item.imagesOf(description, shown).map(({ column }) => imagePath(of, column)))));
  }

  /** @param {KeyboardEvent} event */
  keyPressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {Element} */ (event.target);
    if (target.closest("input, textarea, select")) return;
    if (this.zoom.keyPressed(event) || this.reading.keyPressed(event)) {
      event.preventDefault();
      return;
    }
    const place = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : this.rates.length;
    if (place < this.rates.length && !event.repeat) {
      event.preventDefault();
      this.give({ rating: this.levels[place] });
      return;
    }
    const action = ACTION_OF_KEY[event.key];
    if (!action || event.shiftKey) return;
    if (action === "undo" && this.reading.isLong && this.item.contains(target)) return; // it scrolls back instead
    event.preventDefault();
    if (action === "skip" && this.reading.turn(1)) say("There is more to read. Press again to keep reading; at the end, the same key skips.");
    else if (!event.repeat) this.act(action);
  }

  /** @param {boolean} skips whether the down arrow skips, instead of reading on */
  showKeyOfSkip(skips) {
    this.skip.classList.toggle("keyless", !skips);
    if (skips) this.skip.setAttribute("aria-keyshortcuts", "ArrowDown");
    else this.skip.removeAttribute("aria-keyshortcuts");
  }

  /** @param {Action} action */
  act(action) {
    if (action === "undo") {
      this.undoLast();
      return;
    }
    this.give(action === "skip" ? null : { higher: action === "yes" });
  }

  /** @param {{ higher?: boolean, rating?: string } | null} answer or, to skip, nothing */
  give(answer) {
    const question = this.shown;
    if (!question) return;
    const act = answer ? "answer" : "skip";
    const entry = this.put(question, { act, ...answer });
    if (entry === null) return;
    this.recent.add({ question, act, ...answer, entry, at: Date.now() });
    this.questions.leave(question);
    this.showQuestion();
  }

  /**
   * @param {Server.QuestionOut} question
   * @param {Parameters<Project["put"]>[1]} act
   */
  put(question, act) {
    const entry = this.project.put(question, act);
    if (entry === null) notice("This browser's storage is full or switched off, so this could not be saved. Free some space and try again.");
    return entry;
  }

  // An act that was never sent is simply not sent. One that was is retracted, and its item asked about again.
  async undoLast() {
    const { last } = this.recent;
    if (!last) return;
    const { question, act, entry } = last;
    this.recent.remove(entry);
    say("Undone.");
    if (await this.project.outbox.withdraw(entry)) this.questions.returnTo(question);
    else if (act === "answer" && this.put(question, { act: "retract" }) === null) this.recent.add(last);
    else this.questions.askAgain(question);
    this.showLastAct();
    this.showCounts();
  }

  showQuestion() {
    const question = this.shown = this.questions.current();
    for (const button of [this.no, this.yes, this.skip, ...this.rates]) button.disabled = !question;
    this.showLastAct();
    this.showCounts();
    if (!question) {
      this.showNoQuestion();
      return;
    }
    const { level, shown, item: of } = question;
    const k = this.levels.indexOf(level);
    const above = this.levels[k + 1];
    fill(this.meaningOfNo, bdi(level), k ? " or lower" : null);
    fill(this.meaningOfYes, bdi(above), k + 2 < this.levels.length ? " or higher" : null);
    fill(this.heading, "Is it above ", el("em", { dir: "auto" }, level), "?");
    item.show(this.item, this.project.description, shown, of === null ? []
      : item.imagesOf(this.project.description, shown).map((image) => picture(this.images, of, image)));
    this.zoom.set(false);
    this.fetchImages();
    say(`${item.summary(this.project.description, shown)} Is it above ${level}?`);
    this.scale.show(null, k);
    this.showPosition();
  }

  showNoQuestion() {
    const { problem } = this.questions;
    const code = problem?.code ?? "";
    const why = [problem && code !== "nothing-to-ask" ? `${problem.words}.` : null, WHY[code]].filter(Boolean).join(" ");
    const text = this.questions.isReturning() ? "Bringing the item back…"
      : why || "Loading the next question…";
    if (this.item.textContent === text) return;
    fill(this.item, el("p", { class: "nothing", role: "status" }, text));
    this.zoom.set(false);
    fill(this.heading, "No question right now");
  }

  // The placement of the item now, fetched again whenever something was learned. Seeing it would bias the answer, so
  // the project decides whether it is shown.
  async showPosition() {
    const question = this.shown;
    if (!question || question.item == null || !this.project.description.reveal) return;
    try {
      const json = { items: [question.item] };
      /** @type {Server.Predictions} */
      const { predictions, thresholds } = await this.project.send("POST", "/predictions", { json });
      if (this.shown !== question) return;
      this.scale.show(position(predictions[0], thresholds, this.levels), this.levels.indexOf(question.level));
    } catch (error) {
      asProblem(error); // people can answer without it
    }
  }

  showCounts() {
    const { state: { answers, mae, stale }, forecast, hasForecast } = this.project;
    const { done, items, all } = this.project.progress.now();
    this.bar.max = forecast ? Math.max(answers + forecast.answers.value, 1) : Math.max(items, 1);
    this.bar.value = forecast ? answers : done;
    this.bar.setAttribute("aria-label", forecast ? `Progress towards an error of ${number(forecast.target)} levels` : "Items done");
    const parts = [`${number(done)} of ${number(items)} done`];
    if (!hasForecast) parts.push(`${number(items - done)} left`);
    const pace = this.recent.pace();
    if (pace) parts.push(`${number(pace, 0)} per minute`);
    if (forecast) {
      const { target, expected_error, answers: { value }, certified, unchecked } = forecast;
      const more = Math.ceil(value);
      parts.push(`levels about ${number(expected_error)} off${unchecked ? " if the programs that answered are right" : ""}`,
        more ? `about ${number(more)} more ${more === 1 ? "answer" : "answers"} to ${certified === null ? "reach" : "show"} ${number(target)}` : `enough ${certified ? "to show" : "for"} ${number(target)}`);
    } else if (mae && !hasForecast) parts.push(`mean error ${number(mae.value)} levels (at most ${number(Math.min(mae.high, this.levels.length - 1))})`);
    if (stale) parts.push("an undone answer is still being removed from the estimates");
    const end = !hasForecast && all ? ". Every item has been answered or skipped. More answers make the levels more certain." : "";
    setText(this.counts, parts.join(" · ") + end);
  }

  showLastAct() {
    const { last } = this.recent;
    if (!last) fill(this.last);
    else if (last.act === "skip") fill(this.last, "Last: skipped");
    else if (last.rating !== undefined) fill(this.last, "Last: rated ", bdi(last.rating));
    else fill(this.last, `Last: ${last.higher ? "above" : "not above"} `, bdi(last.question.level));
    this.undo.disabled = !last;
  }
}
