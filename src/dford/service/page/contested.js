// Items about which people's answers contradict each other, and how an admin settles them.

import { asProblem } from "./api.js";
import { bdi, busy, certainty, el, fill, number, say } from "./dom.js";
import { imagePath } from "./images.js";
import { imagesOf, summary } from "./item.js";
import { picture } from "./picture.js";

/** @typedef {import("./project.js").Project} Project */

export class ContestedItems {
  /**
   * @param {Project} project
   * @param {Element} box
   * @param {import("./images.js").Images} images
   */
  constructor(project, box, images) {
    this.project = project;
    this.box = box;
    this.images = images;
    this.isWanted = project.role === "admin"; // until the server says that the learner has no placements
    this.isAsking = false;
    this.acts = 0; // what arrives during one, or was asked for before it, is old
    this.isActing = false;
    /** @type {Server.Contested | null} */
    this.shown = null;
  }

  async refresh() {
    const { sequence } = this.project.state;
    const isLatest = this.shown?.sequence === sequence && !this.shown.stale;
    const isUsed = this.box.contains(document.activeElement); // someone is choosing a level, so nothing may move
    if (!this.isWanted || this.isAsking || this.isActing || isLatest || isUsed) return;
    this.isAsking = true;
    const { acts } = this;
    try {
      const found = await this.project.send("GET", "/contested");
      if (acts === this.acts) this.show(found);
    } catch (error) {
      if (asProblem(error).code === "no-placements") this.isWanted = false;
    } finally {
      this.isAsking = false;
    }
  }

  /** @param {Server.Contested} found */
  show(found) {
    this.shown = found;
    const { description } = this.project;
    this.images.fetchAhead([...found.contested, ...found.settled].flatMap(({ item, shown }) =>
      imagesOf(description, shown).map(({ column }) => imagePath(item, column))));
    fill(this.box,
      found.contested.length ? el("ul", { class: "contested" }, found.contested.map((one) => this.contestedRow(one)))
        : el("p", { class: "nothing" }, "No answers contradict each other."),
      found.settled.length ? el("h3", {}, "Recently settled") : null,
      found.settled.length ? el("ul", { class: "contested" }, found.settled.map((one) => this.settledRow(one))) : null);
  }

  /**
   * Nothing moves until it is done.
   * @param {HTMLButtonElement} button
   * @param {() => Promise<void>} work
   */
  act(button, work) {
    return busy(button, async () => {
      this.acts += 1;
      this.isActing = true;
      try {
        await work();
      } finally {
        this.isActing = false;
      }
    });
  }

  /** @param {{ item: number, shown: Record<string, any> }} one */
  itself({ item, shown }) {
    const { description } = this.project;
    return [...imagesOf(description, shown).map((image) => picture(this.images, item, image)),
      el("p", { dir: "auto", class: "shown" }, summary(description, shown))];
  }

  /** @param {Server.ContestedItem} one */
  contestedRow(one) {
    const { levels } = this.project.description;
    const select = el("select", { "aria-label": `Right level of item ${one.item}` },
      levels.map((level) => el("option", { value: level, selected: level === one.level }, level)));
    const button = el("button", { type: "button", "aria-label": `Settle item ${one.item}` }, "Settle");
    const row = el("li", {}, this.itself(one),
      el("p", { class: "note" }, `Item ${number(one.item)} · now `, bdi(one.level),
        `, ${certainty(one.probabilities[one.level])}`),
      el("ul", { class: "said" }, [...byPerson(one.answers)].map(([person, answers]) => el("li", {},
        el("b", { dir: "auto" }, person), ": ", answers.flatMap(({ level, higher, rating }, i) =>
          [`${i ? ", " : ""}${rating !== null ? "rated" : higher ? "above" : "not above"} `, bdi(rating ?? level)])))),
      el("p", { class: "settle" }, "Right level: ", select, " ", button));
    button.addEventListener("click", () => this.act(button, async () => {
      const settled = await this.project.send("PUT", `/settled/${one.item}`, { json: { level: select.value } });
      say(`Item ${one.item} is settled at ${select.value}.`);
      const now = this.settledRow({ ...settled, shown: one.shown });
      row.replaceWith(now);
      now.querySelector("button")?.focus();
    }));
    return row;
  }

  /** @param {Server.ShownSettled} one */
  settledRow(one) {
    const { item, lowest, highest, person, at } = one;
    const button = el("button", { type: "button", "aria-label": `Undo settling item ${item}` }, "Undo");
    const level = lowest === highest ? [bdi(lowest)] : [bdi(lowest), " to ", bdi(highest)];
    const when = new Date(1000 * at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const row = el("li", {}, this.itself(one),
      el("p", { class: "note" }, `Item ${number(item)} · settled at `, level, " by ", bdi(person), `, ${when} `, button));
    button.addEventListener("click", () => this.act(button, async () => {
      await this.project.send("DELETE", `/settled/${item}`);
      say(`Item ${item} is no longer settled.`);
      const now = el("li", { tabindex: "-1" }, this.itself(one),
        el("p", { class: "note" }, `Item ${number(item)} · no longer settled`));
      row.replaceWith(now);
      now.focus();
    }));
    return row;
  }
}

/**
 * What each person said, in order.
 * @param {Server.GivenAnswer[]} answers
 */
function byPerson(answers) {
  /** @type {Map<string, Server.GivenAnswer[]>} */
  const said = new Map();
  for (const one of answers) said.set(one.person, [...said.get(one.person) ?? [], one]);
  return said;
}
