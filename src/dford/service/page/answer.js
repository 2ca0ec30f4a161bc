// One item, one question, one key press.

import { newKey, Problem, serverTime } from "./api.js";
import { el, fill, notice, number, say } from "./dom.js";
import { short, textsOf } from "./project.js";
import { Scale, standing } from "./scale.js";
import { read, remove, write } from "./storage.js";

const FEWEST = 3; // questions fetched ahead; at most a tenth of what was answered, so that none is asked on old news
const MOST = 10;
const PAUSE = 3000; // milliseconds, at least, between two attempts to get a question
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
    this.ahead = []; // the first is on the page
    this.before = this.recall("ahead").map((question) => ({ ...question, expires: 0 })); // shown where no others can be had
    this.done = this.recall("done").filter(({ question }) => question); // what can be undone, the last first
    [this.key = null] = this.recall("key"); // of the request for a question that has no response yet
    this.again = []; // items to be asked about once more
    this.problem = null; // why no question can be had
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
    const { project, listeners } = this;
    document.addEventListener("keydown", (event) => this.pressed(event), listeners);
    project.addEventListener("state", () => { this.count(); this.stand(); }, listeners);
    project.outbox.addEventListener("sent", () => this.fetchAhead(), listeners);
    project.outbox.addEventListener("refused", ({ detail }) => this.forget(detail), listeners);
    project.outbox.addEventListener("change", () => this.changed(), listeners);
    addEventListener("online", () => this.fetchAhead(), listeners);
    addEventListener("pagehide", () => this.release(), listeners);
    this.draw();
    this.fetchAhead();
  }

  close() {
    this.key = null; // a question that still comes is released, and is no other view's
    this.release();
    this.listeners.abort();
    clearTimeout(this.timer);
    this.scale.close();
  }

  // Others may be asked about what is not answered here. An answer that comes all the same still counts.
  release() {
    const questions = this.ahead.filter(isFresh).map((question) => question.number);
    for (const question of this.ahead) question.expires = 0;
    this.keep();
    if (questions.length) // where it is lost, the server waits until they expire
      this.project.send("POST", "/release", { json: { questions }, keepalive: true }).catch(() => {});
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
    this.ahead.shift();
    this.done.unshift({ question, at: Date.now(), entry, ...what });
    this.done.length = Math.min(this.done.length, REMEMBERED);
    this.keep();
    this.draw();
    return this.fetchAhead();
  }

  // Into the outbox, with what the list of refusals shows and what counting needs; null where there is no room.
  put(question, what) {
    const { number, turns, level } = question;
    const about = short(this.project.description, question.shown);
    const entry = this.project.outbox.add({ question: number, turns, level, about, ...what });
    if (entry === null) notice("This browser's storage is full or switched off, so this could not be saved. Free some space and try again.");
    return entry;
  }

  // What was never sent is simply not sent. What was is retracted, and its item asked about again.
  async takeBack() {
    const before = this.done.shift();
    if (!before) return;
    const { question, act, entry } = before;
    if (await this.project.outbox.withdraw(entry)) {
      if (isFresh(question) || this.problem) this.ahead.unshift(question);
      else this.askOnceMore(question, true);
    } else if (act === "answer" && this.put(question, { act: "retract" }) === null) {
      this.done.unshift(before);
      return;
    } else this.askOnceMore(question, true);
    this.keep();
    this.draw();
    say("Undone.");
    await this.fetchAhead();
  }

  askOnceMore({ number, item }, first) {
    this.again.push({ question: number, item, first, key: newKey() });
  }

  // What the server refused for good cannot be undone.
  forget(entry) {
    this.done = this.done.filter((one) => one.entry !== entry);
    this.keep();
    this.undo.disabled = !this.done.length;
    this.lastAct();
  }

  // Have questions ready, so that nobody waits for the network between two of them.
  async fetchAhead() {
    const { listeners, project } = this;
    if (this.fetching || listeners.signal.aborted) return;
    this.fetching = true;
    clearTimeout(this.timer);
    const had = this.problem;
    try {
      while (!listeners.signal.aborted) {
        const unsent = project.outbox.questions();
        const next = this.again.find(({ question }) => !unsent.has(question));
        const wanted = Math.max(FEWEST, Math.min(MOST, Math.floor((project.state?.answers ?? 0) / 10)));
        if (next) await this.askAgain(next);
        else if (this.ahead.filter(isFresh).length < wanted) await this.askNext();
        else break;
        this.problem = null;
        project.reached(null);
      }
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.failed(problem);
    } finally {
      this.fetching = false;
    }
    if (had !== this.problem && !this.shown) this.draw();
  }

  failed(problem) {
    this.problem = problem;
    if (!["nothing-to-ask", "too-many-open"].includes(problem.code)) this.project.reached(problem);
    if (problem.passing && !this.ahead.length) this.ahead = this.before.splice(0);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchAhead(), problem.pause(PAUSE));
  }

  async askNext() {
    this.key ??= newKey(); // the same until there is a response
    this.keep();
    const question = await this.project.send("POST", "/questions", { key: this.key });
    this.key = null;
    await this.take(question, false);
  }

  // Once what was done about the item has left the outbox.
  async askAgain(one) {
    const { item, first, key } = one;
    const here = this.ahead.findIndex((question) => question.item === item && isFresh(question));
    if (here >= 0) { // it came by itself
      this.again = this.again.filter((other) => other !== one);
      if (first) this.ahead.unshift(...this.ahead.splice(here, 1));
      return this.draw();
    }
    try {
      const question = await this.project.send("POST", "/questions", { json: { item }, key });
      this.again = this.again.filter((other) => other !== one);
      return await this.take(question, first);
    } catch (problem) {
      if (problem.code !== "item-taken") throw problem;
      this.again = this.again.filter((other) => other !== one);
      if (first) notice("This item has been assigned to somebody else in the meantime, so it does not come back here.", 8);
      return this.draw();
    }
  }

  // Some policies ask about the highest level too. Nothing is above it: that is answered here, and the item asked about
  // again.
  async take(question, first) {
    if (question.level === this.levels.at(-1)) {
      if (this.put(question, { act: "answer", higher: false }) === null) throw new Problem(507, "storage-full", "This browser's storage is full.");
      this.askOnceMore(question, first);
      await this.project.outbox.flush();
      return;
    }
    this.before = [];
    if (first) this.ahead.unshift(question);
    else this.ahead.push(question);
    if (this.listeners.signal.aborted) this.release(); // the view was left meanwhile
    else if (first || this.ahead.length === 1) this.draw();
    this.keep();
  }

  // Whether an item that was undone is about to come back: the next one is not shown for just a moment.
  isReturning() {
    return this.again.some(({ first }) => first) && !this.problem && !this.project.outbox.trouble;
  }

  changed() {
    this.count();
    if (!this.again.length) return;
    if (this.isReturning() === Boolean(this.shown)) this.draw();
    this.fetchAhead();
  }

  draw() {
    // another person may have been asked about an item that lay here for too long
    if (!this.problem) this.ahead = this.ahead.filter(isFresh);
    const question = this.shown = this.isReturning() ? undefined : this.ahead[0];
    for (const one of [this.no, this.yes, this.skip]) one.disabled = !question;
    this.undo.disabled = !this.done.length;
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
    const { problem } = this;
    const why = [problem && problem.code !== "nothing-to-ask" ? `${problem.words}.` : null, WHY[problem?.code]].filter(Boolean).join(" ");
    const text = this.isReturning() ? "Undone. The item comes back in a moment." : why || "Loading the next question…";
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
  }

  // This window's own, as two windows have different questions before them.
  recall(what) {
    const found = read(`dford.${what}.${this.project.name}`, "sessionStorage");
    return Array.isArray(found) ? found.filter(Boolean) : [];
  }

  keep() {
    const { done, key } = this;
    const ahead = this.ahead.length ? this.ahead : this.before;
    for (const [what, value] of Object.entries({ ahead, done, key: [key] })) {
      const shelf = `dford.${what}.${this.project.name}`;
      // what is too large for a reload: questions are asked again, answers are elsewhere
      if (!write(shelf, value, "sessionStorage")) remove(shelf, "sessionStorage");
    }
  }
}

// Whether nobody else is asked about the item.
const isFresh = ({ expires }) => expires > serverTime();
