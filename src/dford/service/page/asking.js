// How the people of a project are asked: gold questions, answers per item, who audits, what people see of themselves.

import { busy, el, notice } from "./dom.js";

/**
 * @typedef {import("./project.js").Project} Project
 * @typedef {{ gold: number, answers_per_item: number, auditors: string[] | null, own_figures: boolean,
 *   ratings: boolean, certify: boolean }} Values
 */

/**
 * @param {unknown} one
 * @param {unknown} other
 */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export class AskingForm {
  /** @param {Project} project */
  constructor(project) {
    this.project = project;
    /** @type {Values | null} */
    this.loaded = null; // what the form showed when it was loaded or saved
    this.gold = el("input", { id: "gold", type: "number", min: 0, max: 50, step: "any", required: true });
    this.perItem = el("input", { id: "per-item", type: "number", min: 1, max: 100, required: true });
    this.auditors = el("textarea", { id: "auditors", rows: 3, autocomplete: "off" });
    this.ownFigures = el("input", { id: "own-figures", type: "checkbox" });
    this.ratings = el("input", { id: "ratings", type: "checkbox" });
    this.certify = el("input", { id: "certify", type: "checkbox" });
    this.button = el("button", { class: "main" }, "Save");
    const save = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      return busy(this.button, async () => {
        const sent = this.values();
        const rules = await project.send("PUT", "/settings", { json: this.changes(sent) });
        project.description = { ...project.description, ratings: rules.ratings };
        if (isSame(this.values(), sent)) this.show(rules); // unless something was typed meanwhile
        else this.loaded = sent;
        notice("Saved. It applies from the next question on.", 8);
      });
    };
    /** @type {(input: HTMLElement, label: string, note: string) => Element} */
    const field = (input, label, note) => el("p", {},
      el("label", { for: input.id }, label), input, el("span", { class: "note" }, note));
    this.section = el("section", { class: "card" }, el("h2", {}, "How people are asked"), el("form", { onsubmit: save },
      field(this.gold, "Gold questions, % of all", "About items whose level is known, to see how often each person is right. They look like any other question."),
      field(this.perItem, "People per item", "Items with answers from fewer people come first."),
      field(this.auditors, "Who audits", "Audit questions check how far off the levels are, so they are best answered by people you trust. One name per line; leave empty for everyone."),
      el("p", {}, el("label", { class: "check" }, this.ownFigures, " People see their own figures")),
      el("p", {}, el("label", { class: "check" }, this.ratings, " People can give an item's level, instead of yes or no")),
      el("p", {}, el("label", { class: "check" }, this.certify, " Show that the target is reached"),
        el("span", { class: "note" }, "Once the levels are expected to be near enough, those who audit check items drawn at random, until it is shown with 95% confidence.")),
      this.button));
  }

  async load() {
    this.show(await this.project.send("GET", "/settings"));
  }

  /** @param {Server.RulesOut} rules */
  show(rules) {
    this.gold.value = String(Math.round(1e6 * rules.gold) / 1e4);
    this.perItem.value = String(rules.answers_per_item);
    this.auditors.value = (rules.auditors ?? []).join("\n");
    this.ownFigures.checked = rules.own_figures;
    this.ratings.checked = rules.ratings;
    this.certify.checked = rules.certify;
    this.loaded = this.values();
  }

  /**
   * Only these are sent: the others may have been changed elsewhere.
   * @param {Values} values
   * @returns {Partial<Values>}
   */
  changes(values) {
    return Object.fromEntries(Object.entries(values)
      .filter(([name, value]) => !isSame(value, this.loaded?.[/** @type {keyof Values} */ (name)])));
  }

  /** @returns {Values} */
  values() {
    const names = this.auditors.value.split("\n").map((name) => name.trim()).filter(Boolean);
    return {
      gold: this.gold.valueAsNumber / 100, answers_per_item: this.perItem.valueAsNumber,
      auditors: names.length ? names : null, own_figures: this.ownFigures.checked,
      ratings: this.ratings.checked, certify: this.certify.checked,
    };
  }
}
