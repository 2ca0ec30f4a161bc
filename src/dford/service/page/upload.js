// Items from files, chosen or dropped: a CSV file, previewed as the server would read it and sent in parts, or images.

import { asProblem, IdempotencyKeys, Problem, projectPath, send } from "./api.js";
import { parts } from "./csv.js";
import { el, fill, number, scrollable } from "./dom.js";
import { haveImages, ImageFiles } from "./image-files.js";
import { shorten } from "./item.js";

/** @typedef {Server.Column["kind"] | "image" | "gold" | "ratings"} Kind */

const IMAGES = "image/png,image/jpeg,image/webp,image/gif";

/** @type {[Kind, string][]} */
const KINDS = [["number", "Number"], ["order", "Ordered category"], ["category", "Category"], ["text", "Text"], ["vector", "Vector"], ["date", "Date"],
  ["words", "Words"], ["image", "Image"], ["shown", "Shown only"], ["gold", "Known level"], ["ratings", "Ratings"]];

/** @type {Record<Kind, Kind[]>} */
const CHOICES = { // by what the server found
  number: ["number", "shown"],
  order: ["order", "category", "text", "shown"],
  category: ["number", "category", "text", "shown"],
  text: ["text", "shown"],
  vector: ["vector", "shown"],
  date: ["date", "text", "shown"],
  words: ["words", "shown"],
  image: ["image", "shown"],
  shown: ["text", "shown"],
  gold: [],
  ratings: [],
};

export class Upload {
  /**
   * @param {(text: string, levels?: string[]) => Promise<Server.Preview>} preview asks the server how the file would be
   *   read, on this scale if it is known
   * @param {(known: boolean) => void} changed called with false while that is unknown, and true once it is known
   * @param {boolean} fixed whether the columns cannot be chosen
   */
  constructor(preview, changed, fixed = false) {
    this.preview = preview;
    this.changed = changed;
    this.fixed = fixed;
    this.name = ""; // of the file, without its ending
    this.file = ""; // identifies the file
    this.count = 0;
    this.sent = 0; // how many items of it, at the latest attempt
    /** @type {import("./csv.js").Part[]} */
    this.parts = []; // empty until a file was read
    /** @type {{ column: Server.Column, select: HTMLSelectElement }[]} */
    this.columns = [];
    this.reading = 0; // increases with every file: what arrives for an earlier one is dropped
    this.keys = new IdempotencyKeys();
    this.images = new ImageFiles();
    const empty = () => { this.input.value = ""; }; // or a browser fires no event when the same file is chosen again
    const choose = () => { this.take(this.input.files); };
    this.input = el("input", {
      type: "file", id: "file", multiple: true, accept: `.csv,text/csv,.zip,${IMAGES}`, onclick: empty, onchange: choose,
    });
    this.note = el("p", { class: "note", role: "status" });
    this.table = scrollable("Preview");
    this.box = el("div", { class: "drop" },
      el("label", { for: "file" }, "A CSV file with a header line and one item per line, or images, or ZIP files of images. Choose them or drop them here."),
      this.input, this.note, this.table);
    const dragged = (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      this.box.classList.toggle("over", event.type === "dragover");
    };
    this.box.addEventListener("dragover", dragged);
    this.box.addEventListener("dragleave", dragged);
    this.box.addEventListener("drop", (event) => {
      dragged(event);
      if (!this.input.disabled) this.take(event.dataTransfer?.files);
    });
  }

  // Whether there is something to send.
  get isKnown() {
    return this.parts.length > 0 || this.images.files.length > 0;
  }

  // How many items the latest attempt has added.
  get added() {
    return this.images.files.length ? this.images.added : this.sent;
  }

  clear() {
    this.parts = [];
    this.keys = new IdempotencyKeys();
    this.images = new ImageFiles();
    this.input.value = "";
    this.note.textContent = "";
    fill(this.table);
  }

  /** @param {FileList | null | undefined} list */
  async take(list) {
    const files = [...list ?? []];
    if (!files.length) return;
    this.parts = [];
    this.images.files = [];
    this.changed(false);
    this.name = files.length > 1 ? "images" : files[0].name.replace(/\.[^.]*$/, "");
    fill(this.table);
    this.note.textContent = "Reading…";
    const reading = ++this.reading;
    const areImages = await haveImages(files);
    if (reading !== this.reading) return; // others were chosen in the meantime
    if (areImages) await this.takeImages(files, reading);
    else if (files.length === 1) await this.takeCsv(files[0], reading);
    else this.note.textContent = "None of these files is an image. Choose one CSV file at a time.";
  }

  /**
   * @param {File[]} files
   * @param {number} reading
   */
  async takeImages(files, reading) {
    const sentence = await this.images.take(files);
    if (reading !== this.reading) return;
    this.columns = [];
    this.note.textContent = sentence;
    this.changed(this.isKnown);
  }

  /**
   * @param {File} file
   * @param {number} reading
   */
  async takeCsv(file, reading) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      const all = parts(text);
      const preview = await this.preview(all[0].text);
      if (reading !== this.reading) return;
      this.parts = all;
      this.file = `${file.name} ${file.size} ${file.lastModified}`;
      this.count = all.reduce((sum, { count }) => sum + count, 0);
      this.show(preview);
      this.note.textContent = `${number(this.count)} items in ${file.name}.`;
      this.changed(true);
    } catch (error) {
      if (reading !== this.reading) return;
      this.note.textContent = error instanceof TypeError ? "This file is not UTF-8 text; save it as UTF-8."
        : error instanceof Problem ? error.sentence : String(error);
    }
  }

  /** @param {Server.Preview} preview */
  show({ columns, rows }) {
    this.columns = columns.map((column) => this.choiceOf(column));
    fill(this.table, el("table", {}, el("caption", {}, "The first rows, and how each column is read"),
      el("thead", {}, el("tr", {}, columns.map(({ name }) => el("th", { scope: "col", dir: "auto" }, name))),
        this.fixed ? null : el("tr", {}, this.columns.map(({ select }) => el("td", {}, select)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map(({ name }) =>
        el("td", { dir: "auto", class: "shown" }, shorten(row[name], 80))))))),
    this.fixed ? null : el("p", { class: "note" }, "A column of known levels is neither shown nor learned from: it is there to check people's answers. Its values are names of levels, or empty. Levels start from columns of ratings."),
    columns.filter(({ note }) => note).map(({ name, kind, note }) =>
      el("p", { class: "note" }, `${kind === "shown" ? `Nothing is learned from ${name}` : name}: ${note}.`)));
  }

  // The name of the column with known levels, if there is one.
  goldColumn() {
    return this.images.files.length ? null : this.columns.find(({ select }) => select.value === "gold")?.column.name ?? null;
  }

  // At most one column has known levels.
  takeGoldFromOthers(/** @type {HTMLSelectElement} */ chosen) {
    if (chosen.value !== "gold") return;
    for (const { column, select } of this.columns) if (select !== chosen && select.value === "gold") select.value = kindOf(column);
  }

  /**
   * Find out which columns are ratings on this scale. What somebody chose stays as it is.
   * @param {string[]} levels
   */
  async findRatings(levels) {
    const [reading, first] = [this.reading, this.parts.at(0)];
    if (!first) return;
    const { columns } = await this.preview(first.text, levels);
    if (reading !== this.reading) return;
    columns.forEach((found, i) => {
      const { column, select } = this.columns[i];
      if (JSON.stringify(found) === JSON.stringify(column)) return;
      const [now, isInUse] = [this.choiceOf(found), document.activeElement === select];
      if (select.value !== kindOf(column)) now.select.value = select.value;
      if (!now.select.value) return; // what they chose is no longer offered
      this.columns[i] = now;
      select.replaceWith(now.select);
      if (isInUse) now.select.focus();
    });
  }

  /** @param {Server.Column} column */
  choiceOf(column) {
    const select = kindSelect(column);
    select.addEventListener("change", () => this.takeGoldFromOthers(select));
    return { column, select };
  }

  // The columns as chosen; for images, the server decides.
  choice() {
    const learned = this.columns.filter(({ select }) => select.value !== "gold");
    return this.images.files.length ? undefined : learned.map(({ column, select: { value: kind } }) => {
      if (kind === kindOf(column)) return column;
      return kind === column.kind ? { ...column, ratings: [] } : { name: column.name, kind };
    });
  }

  /**
   * Send the items; returns how many.
   * @param {string} project
   */
  async sendTo(project) {
    this.input.disabled = true;
    try {
      if (!this.images.files.length) return await this.sendParts(project);
      return await this.images.sendTo(project, (sentence) => { this.note.textContent = sentence; });
    } finally {
      this.input.disabled = false;
    }
  }

  /**
   * Each part has its own key, so that nothing is added twice if it is sent again, after a lost response or after the
   * file was chosen again.
   * @param {string} project
   */
  async sendParts(project) {
    this.sent = 0;
    try {
      for (const [i, { text }] of this.parts.entries()) {
        const key = this.keys.of(`${project} ${this.file} ${i}`);
        this.sent += (await send("POST", projectPath(project, "/items.csv"), { project, text, key })).count;
        this.note.textContent = `${number(this.sent)} of ${number(this.count)} items sent.`;
      }
    } catch (error) {
      const problem = asProblem(error);
      const next = problem.temporary ? "Try again to continue: nothing is added twice."
        : this.sent ? "Those were added: leave them out of the corrected file." : "";
      this.note.textContent = `Stopped after ${number(this.sent)} of ${number(this.count)} items. ${next}`;
      throw problem;
    }
    return this.sent;
  }
}

/**
 * What a column was read as.
 * @param {Server.Column} column
 * @returns {Kind}
 */
const kindOf = ({ kind, ratings }) => (ratings?.length ? "ratings" : kind);

/** @param {Server.Column} column */
function kindSelect(column) {
  const found = kindOf(column);
  const offered = [found, "gold", ...CHOICES[column.kind]];
  return el("select", { "aria-label": `How ${column.name} is read` },
    KINDS.filter(([kind]) => offered.includes(kind))
      .map(([kind, title]) => el("option", { value: kind, selected: kind === found }, title)));
}
