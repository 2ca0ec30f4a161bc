// One item, one question, one key press.

import { Problem } from "./api.js";
import { el, fill, notice, number, say } from "./dom.js";
import { short, textsOf } from "./project.js";
import { Questions } from "./questions.js";
import { Scale, standing } from "./scale.js";
import { readList, remove, write } from "./storage.js";

const REMEMBERED = 20; // acts that can be undone
const WHY = {
  "nothing-to-ask": "All items are assigned to other people right now, or there are none yet. This page checks again automatically.",
  "catching-up": "Questions appear here as soon as it has finished. Answers that you gave are safe.",
  "no-network": "Questions appear here as soon as it can be reached.",
  "no-key": "Open your invitation link again, or reload this page to enter a key.",
};
const KEYS = { ArrowLeft: "no", ArrowRight: "yes", ArrowDown: "skip", ArrowUp: "undo" };

export function show(main, project) {
  const view = new Answer(main, project);
  view.start();
  return () => view.close();
}

class Answer {
  constructor(main, project) {
    this.project = project;
    this.levels = project.description.levels;
    this.questions = new Questions(project);
    this.shown = undefined; // the question on the page
    this.shelf = `dford.done.${project.name}`; // this window's own
    this.done = readList(this.shelf, "sessionStorage").filter(({ question }) => question); // what can be undone, the last first
    this.listeners = new AbortController();
    this.make(main);
  }

  make(main) {
    const button = (act, name, key, label) =>
      el("button", { type: "button", class: act, onclick: () => this.act(act), "aria-keyshortcuts": key },
        el("span", { class: "label" }, label ?? name), el("kbd", { "aria-hidden": "true" }, arrows[key]));
    const arrows = { ArrowLeft: "←", ArrowRight: "→", ArrowDown: "↓", ArrowUp: "↑" };
    this.no = button("no", "No", "ArrowLeft", [el("b", {}, "No"), el("small", {})]);
    this.yes = button("yes", "Yes", "ArrowRight", [el("b", {}, "Yes"), el("small", {})]);
    this.skip = button("skip", "Skip", "ArrowDown");
    this.undo = button("undo", "Undo", "ArrowUp");
    this.scale = new Scale(this.levels);
    this.bar = el("progress", { "aria-label": "Items done" });
    this.counts = el("p", { class: "counts" });
    this.item = el("section", { class: "item", "aria-label": "Item", tabindex: "0" });
    this.heading = el("h1", { tabindex: "-1", class: "question" });
    this.last = el("p", { class: "last" });
    fill(main, el("div", { class: "answer" },
      el("div", { class: "progress" }, this.bar, this.counts),
      this.scale.svg, this.item, this.heading,
      el("div", { class: "buttons", role: "group", "aria-label": "Your answer" }, this.no, this.yes),
      el("div", { class: "less" }, this.undo, this.last, this.skip)));
  }

  start() {
    const { project, questions, listeners } = this;
    document.addEventListener("keydown", (event) => this.pressed(event), listeners);
    project.addEventListener("state", () => { this.count(); this.stand(); }, listeners);
    project.outbox.addEventListener("change", () => this.count(), listeners);
    project.outbox.addEventListener("refused", ({ detail }) => this.forget(detail), listeners);
    questions.addEventListener("change", () => { if (!this.shown || this.shown !== questions.current()) this.draw(); }, listeners);
    this.draw();
    questions.fetch();
  }

  close() {
    this.questions.close();
    this.listeners.abort();
    this.scale.close();
  }

  pressed(event) {
    const act = KEYS[event.key];
    if (!act || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select")) return;
    const scrolls = this.item.scrollHeight > this.item.clientHeight && this.item.contains(event.target);
    if (scrolls && (act === "skip" || act === "undo")) return;
    event.preventDefault();
    this.act(act);
  }

  act(act) {
    if (act === "undo") return this.takeBack();
    const question = this.shown;
    if (!question) return undefined;
    const what = act === "skip" ? { act } : { act: "answer", higher: act === "yes" };
    const entry = this.put(question, what);
    if (entry === null) return undefined;
    this.done = [{ question, at: Date.now(), entry, ...what }, ...this.done].slice(0, REMEMBERED);
    this.keep();
    this.questions.leave(question);
    return this.draw();
  }

  put(question, what) {
    const entry = this.project.put(question, what);
    if (entry === null) notice("This browser's storage is full or switched off, so this could not be saved. Free some space and try again.");
    return entry;
  }

  // What was never sent is simply not sent. What was is retracted, and its item asked about again.
  async takeBack() {
    const before = this.done.shift();
    if (!before) return;
    const { question, act, entry } = before;
    say("Undone.");
    if (await this.project.outbox.withdraw(entry)) this.questions.returnTo(question);
    else if (act === "answer" && this.put(question, { act: "retract" }) === null) this.done.unshift(before);
    else this.questions.askAgain(question);
    this.keep();
    this.lastAct();
    this.count();
  }

  // What the server refused for good cannot be undone.
  forget(entry) {
    this.done = this.done.filter((one) => one.entry !== entry);
    this.keep();
    this.lastAct();
  }

  draw() {
    const question = this.shown = this.questions.current();
    for (const one of [this.no, this.yes, this.skip]) one.disabled = !question;
    this.lastAct();
    this.count();
    if (!question) return this.drawNothing();
    const k = this.levels.indexOf(question.level);
    this.no.querySelector("small").textContent = k ? `${question.level} or lower` : question.level;
    this.yes.querySelector("small").textContent =
      this.levels[k + 1] + (k + 2 < this.levels.length ? " or higher" : "");
    fill(this.heading, "Is it above ", el("em", {}, question.level), "?");
    this.drawItem(this.parts(question.shown));
    say(`${short(this.project.description, question.shown)} Is it above ${question.level}?`);
    this.scale.show(null, k);
    return this.stand();
  }

  drawNothing() {
    const { problem } = this.questions;
    const why = [problem && problem.code !== "nothing-to-ask" ? `${problem.words}.` : null, WHY[problem?.code]].filter(Boolean).join(" ");
    const text = this.questions.isReturning() ? "Undone. The item comes back in a moment." : why || "Loading the next question…";
    if (this.item.textContent === text) return;
    fill(this.item, el("p", { class: "nothing", role: "status" }, text));
    fill(this.heading, "No question right now");
  }

  // What is text and what is not, of an item.
  parts(shown) {
    const texts = textsOf(this.project.description);
    const given = Object.entries(shown).filter(([, value]) => value !== null && value !== "");
    return {
      texts: given.filter(([name]) => texts.includes(name)).map(([, value]) => value),
      rest: given.filter(([name]) => !texts.includes(name)),
    };
  }

  drawItem({ texts, rest }) {
    fill(this.item,
      texts.map((value) => el("p", { class: "text", dir: "auto" }, String(value))),
      rest.length ? el("dl", { class: texts.length ? "" : "alone" }, rest.map(([name, value]) =>
        el("div", {}, el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, String(value))))) : null);
    this.item.scrollTop = 0;
  }

  // Where the item stands now: asked again whenever something was learned.
  async stand() {
    const question = this.shown;
    if (!question || question.item == null) return;
    try {
      const { predictions, thresholds } = await this.project.send("POST", "/predictions", { json: { items: [question.item] } });
      if (this.shown !== question) return;
      this.scale.show(standing(predictions[0], thresholds, this.levels), this.levels.indexOf(question.level));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // without a picture of the scale one can answer too
    }
  }

  count() {
    const { state } = this.project;
    const { done, items, all } = this.project.count.now();
    this.bar.max = Math.max(items, 1);
    this.bar.value = done;
    const parts = [`${number(done)} of ${number(items)} done`, `${number(items - done)} left`];
    const pace = this.pace();
    if (pace) parts.push(`${number(pace, 0)} per minute`);
    if (state.mae) parts.push(`mean error ${number(state.mae.value)} levels (at most ${number(Math.min(state.mae.high, this.levels.length - 1))})`);
    if (state.stale) parts.push("an undone answer is still being removed from the estimates");
    const text = parts.join(" · ") + (all ? ". Every item has been answered or skipped. More answers make the levels more certain." : "");
    if (this.counts.textContent !== text) this.counts.textContent = text;
  }

  // Answers per minute over the latest ones, in one sitting.
  pace() {
    const times = this.done.filter(({ act }) => act === "answer").map(({ at }) => at).slice(0, 20);
    const end = times.findIndex((at, i) => i && times[i - 1] - at > 120_000);
    const sitting = end < 0 ? times : times.slice(0, end);
    return sitting.length > 2 ? (60_000 * (sitting.length - 1)) / Math.max(sitting[0] - sitting.at(-1), 1) : null;
  }

  lastAct() {
    const before = this.done[0];
    const what = before && (before.act === "skip" ? "skipped" : `${before.higher ? "above" : "not above"} ${before.question.level}`);
    this.last.textContent = before ? `Last: ${what}` : "";
    this.undo.disabled = !before;
  }

  keep() {
    if (!write(this.shelf, this.done, "sessionStorage")) remove(this.shelf, "sessionStorage"); // only undoing needs it
  }
}
