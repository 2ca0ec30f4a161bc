// One item, one question, one key press.

import { Problem } from "./api.js";
import { el, fill, notice, number, say } from "./dom.js";
import { textsOf } from "./project.js";
import { Scale, standing } from "./scale.js";

const FEWEST = 3; // questions fetched ahead; at most a tenth of what was answered, so that none is asked on old news
const MOST = 10;
const REMEMBERED = 20; // acts that can be undone
const WHY = {
  "nothing-to-ask": "Every item is before somebody just now, or there is none yet. This page looks again by itself.",
  "no-network": "The server cannot be reached. This page asks for a question as soon as it can.",
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
    this.ahead = this.recall("ahead"); // the first is on the page
    this.done = this.recall("done"); // what can be undone, the last first
    this.ears = new AbortController();
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
    this.item = el("section", { class: "item", "aria-label": "The item", tabindex: "0" });
    this.heading = el("h1", { tabindex: "-1", class: "question" });
    this.last = el("p", { class: "last" });
    fill(main, el("div", { class: "answer" },
      el("div", { class: "progress" }, this.bar, this.counts),
      this.scale.svg, this.item, this.heading,
      el("div", { class: "buttons", role: "group", "aria-label": "Your answer" }, this.no, this.yes),
      el("div", { class: "less" }, this.undo, this.last, this.skip)));
  }

  start() {
    const { project, ears } = this;
    document.addEventListener("keydown", (event) => this.pressed(event), ears);
    project.addEventListener("state", () => { this.count(); this.stand(); }, ears);
    project.outbox.addEventListener("sent", () => this.fetchAhead(), ears);
    project.outbox.addEventListener("change", () => this.count(), ears);
    addEventListener("online", () => this.fetchAhead(), ears);
    this.draw();
    this.fetchAhead();
  }

  close() {
    this.ears.abort();
    clearTimeout(this.timer);
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
    const question = this.ahead[0];
    if (!question) return undefined;
    const what = act === "skip" ? { act } : { act: "answer", higher: act === "yes" };
    try {
      what.entry = this.project.outbox.add({ question: question.number, ...what });
    } catch {
      return notice("This browser's storage is full, so the answer was not taken. Free some space and answer again.");
    }
    this.ahead.shift();
    this.done.unshift({ question, at: Date.now(), ...what });
    this.done.length = Math.min(this.done.length, REMEMBERED);
    this.keep();
    this.draw();
    return this.fetchAhead();
  }

  // What has not gone out is simply not sent. What has is retracted, and its item asked about again.
  async takeBack() {
    const before = this.done.shift();
    if (!before) return;
    const { question, act, entry } = before;
    if (await this.project.outbox.withdraw(entry)) this.ahead.unshift(question);
    else {
      if (act === "answer") this.project.outbox.add({ question: question.number, act: "retract" });
      this.again = question.item;
    }
    this.keep();
    this.draw();
    say("Taken back.");
    await this.fetchAhead();
  }

  // Have questions ready, so that nobody waits for the network between two of them.
  async fetchAhead() {
    if (this.fetching || this.ears.signal.aborted) return;
    this.fetching = true;
    clearTimeout(this.timer);
    let pause = 0;
    try {
      if (this.again != null) await this.askAgain();
      const wanted = Math.max(FEWEST, Math.min(MOST, Math.floor((this.project.state?.answers ?? 0) / 10)));
      while (this.ahead.length < wanted && !this.ears.signal.aborted) {
        this.ahead.push(await this.askNext());
        this.keep();
        if (this.ahead.length === 1) this.draw();
      }
      this.project.reached(true);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.why = WHY[problem.code] ?? problem.sentence;
      this.project.reached(problem.status !== 0);
      pause = Math.max(problem.retryAfter, 3);
    } finally {
      this.fetching = false;
    }
    if (pause) this.timer = setTimeout(() => this.fetchAhead(), 1000 * pause);
    if (!this.ahead.length) this.draw();
  }

  async askNext() {
    this.key ??= crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`; // the same until it has an answer
    const question = await this.project.send("POST", "/questions", { key: this.key });
    this.key = null;
    try {
      return await this.worth(question);
    } catch (problem) {
      if (problem.code === "item-taken") return this.askNext();
      throw problem;
    }
  }

  // Some policies ask about the highest level too. Nothing is above it: that is answered here, and a person asked again.
  async worth(question) {
    if (question.level !== this.levels.at(-1)) return question;
    await this.project.send("POST", `/questions/${question.number}/answer`, { json: { higher: false } });
    return this.worth(await this.project.send("POST", "/questions", { json: { item: question.item } }));
  }

  async askAgain() {
    await this.project.outbox.flush();
    try {
      this.ahead.unshift(await this.worth(await this.project.send("POST", "/questions", { json: { item: this.again } })));
    } catch (problem) {
      if (problem.passing) throw problem;
      notice("Somebody else has this item before them now, so it does not come back here.", 8);
    }
    this.again = null;
    this.keep();
    this.draw();
  }

  draw() {
    const now = Date.now() / 1000;
    // another person may have been asked about an item that lay here for too long
    if (navigator.onLine && this.project.reachable) {
      const fresh = this.ahead.filter((question) => question.expires > now);
      if (fresh.length < this.ahead.length) { this.ahead = fresh; this.keep(); this.fetchAhead(); }
    }
    const question = this.ahead[0];
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
    const parts = this.parts(question.shown);
    this.drawItem(parts);
    const spoken = parts.texts[0] ?? parts.rest.map((pair) => pair.join(" ")).join(", ");
    say(`${String(spoken).slice(0, 300)} Is it above ${question.level}?`);
    this.scale.show(null, k);
    return this.stand();
  }

  drawNothing() {
    fill(this.item, el("p", { class: "nothing" }, this.again != null ? "Taken back; the item comes again in a moment."
      : this.why ?? "The first question is on its way."));
    fill(this.heading, "No question just now");
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
    const question = this.ahead[0];
    if (!question || question.item == null) return;
    try {
      const { predictions, thresholds } = await this.project.send("POST", "/predictions", { json: { items: [question.item] } });
      if (this.ahead[0]?.number !== question.number) return;
      this.scale.show(standing(predictions[0], thresholds, this.levels), this.levels.indexOf(question.level));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem; // without a picture of the scale one can answer too
    }
  }

  count() {
    const { state, outbox } = this.project;
    const acts = outbox.acts();
    const waiting = new Set(acts.filter(({ act }) => act !== "retract").map(({ question }) => question)).size;
    const back = acts.filter(({ act }) => act === "retract").length;
    const done = Math.max(0, Math.min(state.items, state.items_done + this.project.unseen + waiting - back));
    this.bar.max = Math.max(state.items, 1);
    this.bar.value = done;
    const parts = [`${number(done)} of ${number(state.items)} done`, `${number(state.items - done)} left`];
    const pace = this.pace();
    if (pace) parts.push(`${number(pace, 0)} a minute`);
    if (state.mae) parts.push(`${number(state.mae.value)} levels off so far, at most ${number(Math.min(state.mae.high, this.levels.length - 1))}`);
    this.counts.textContent = parts.join(" · ");
    if (done && done === state.items) this.counts.textContent += ". Every item had its turn: what comes now makes the levels surer.";
  }

  // Answers a minute over the latest ones, in one sitting.
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
    return JSON.parse(sessionStorage.getItem(`dford.${what}.${this.project.name}`) ?? "[]");
  }

  keep() {
    for (const what of ["ahead", "done"]) {
      const shelf = `dford.${what}.${this.project.name}`;
      try {
        sessionStorage.setItem(shelf, JSON.stringify(this[what]));
      } catch {
        sessionStorage.removeItem(shelf); // too large to outlive a reload: questions are asked again, answers are elsewhere
      }
    }
  }
}
