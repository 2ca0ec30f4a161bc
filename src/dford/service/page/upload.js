// A CSV file: chosen or dropped, shown as the server would read it, and sent part by part.

import { IdempotencyKeys, Problem, projectPath, send } from "./api.js";
import { parts } from "./csv.js";
import { el, fill, number, scrollable } from "./dom.js";
import { shorten } from "./item.js";

/** @typedef {Server.Column["kind"]} Kind */

/** @type {[Kind, string][]} */
const KINDS = [["number", "Number"], ["category", "Category"], ["words", "Words"], ["text", "Shown only"]];

/** @type {Record<Kind, Kind[]>} */
const CHOICES = { // by what the server found
  number: ["number", "text"],
  category: ["number", "category", "words", "text"],
  words: ["words", "text"],
  text: ["words", "text"],
};

export class Upload {
  /**
   * @param {(text: string) => Promise<Server.Preview>} preview asks the server how the file would be read
   * @param {(known: boolean) => void} changed called when that is known, and while it is not
   * @param {boolean} fixed whether the columns are not for choosing
   */
  constructor(preview, changed, fixed = false) {
    this.preview = preview;
    this.changed = changed;
    this.fixed = fixed;
    this.name = ""; // of the file, without its ending
    this.file = ""; // what tells it from others
    this.count = 0;
    /** @type {import("./csv.js").Part[]} */
    this.parts = []; // none while no file was read
    /** @type {{ column: Server.Column, select: HTMLSelectElement }[]} */
    this.columns = [];
    this.reading = 0; // goes up with every file: what comes for an earlier one is dropped
    this.keys = new IdempotencyKeys();
    const empty = () => { this.input.value = ""; }; // or a browser says nothing when the same file is chosen again
    const choose = () => { this.take(this.input.files?.[0]); };
    this.input = el("input", { type: "file", id: "file", accept: ".csv,text/csv", onclick: empty, onchange: choose });
    this.note = el("p", { class: "note", role: "status" });
    this.table = scrollable("Preview");
    this.box = el("div", { class: "drop" },
      el("label", { for: "file" }, "CSV file with a header line, then one item per line. Choose it, or drop it here."),
      this.input, this.note, this.table);
    const dragged = (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      this.box.classList.toggle("over", event.type === "dragover");
    };
    this.box.addEventListener("dragover", dragged);
    this.box.addEventListener("dragleave", dragged);
    this.box.addEventListener("drop", (event) => {
      dragged(event);
      if (!this.input.disabled) this.take(event.dataTransfer?.files[0]);
    });
  }

  clear() {
    this.parts = [];
    this.keys = new IdempotencyKeys();
    this.input.value = "";
    this.note.textContent = "";
    fill(this.table);
  }

  /** @param {File | undefined} file */
  async take(file) {
    if (!file) return;
    this.parts = [];
    this.changed(false);
    this.name = file.name.replace(/\.[^.]*$/, "");
    fill(this.table);
    this.note.textContent = "Reading…";
    const reading = ++this.reading;
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      const all = parts(text);
      const preview = await this.preview(all[0].text);
      if (reading !== this.reading) return; // another file was chosen meanwhile
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
    this.columns = columns.map((column) => ({ column, select: kindSelect(column) }));
    fill(this.table, el("table", {}, el("caption", {}, "How each column is read, and the first rows"),
      el("thead", {}, el("tr", {}, columns.map(({ name }) => el("th", { scope: "col", dir: "auto" }, name))),
        this.fixed ? null : el("tr", {}, this.columns.map(({ select }) => el("td", {}, select)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map(({ name }) =>
        el("td", { dir: "auto", class: "shown" }, shorten(row[name], 80))))))));
  }

  // The columns as chosen.
  choice() {
    return this.columns.map(({ column, select: { value: kind } }) =>
      ({ ...column, kind, categories: kind === "category" ? column.categories : [] }));
  }

  /**
   * Send the items, part by part; how many. Each part has a key of its own: sent again, after a lost response or with
   * the file chosen anew, none is added twice.
   * @param {string} project
   */
  async sendTo(project) {
    this.input.disabled = true;
    let sent = 0;
    try {
      for (const [i, { text }] of this.parts.entries()) {
        const key = this.keys.of(`${project} ${this.file} ${i}`);
        sent += (await send("POST", projectPath(project, "/items.csv"), { project, text, key })).count;
        this.note.textContent = `${number(sent)} of ${number(this.count)} items sent.`;
      }
    } catch (error) {
      this.note.textContent = `Stopped after ${number(sent)} of ${number(this.count)} items. Try again to continue: nothing is added twice.`;
      throw error;
    } finally {
      this.input.disabled = false;
    }
    return sent;
  }
}

/** @param {Server.Column} column */
function kindSelect({ name, kind: found }) {
  return el("select", { "aria-label": `How ${name} is read` },
    KINDS.filter(([kind]) => CHOICES[found].includes(kind))
      .map(([kind, title]) => el("option", { value: kind, selected: kind === found }, title)));
}
