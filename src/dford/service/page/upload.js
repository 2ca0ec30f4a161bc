// A CSV file: chosen or dropped, shown as the server would read it, and sent in parts that the server takes.

import { inside, Repeats, send } from "./api.js";
import { el, fill, number, wide } from "./dom.js";

const ROWS = 5000; // in one part
const SIZE = 4_000_000; // characters
const KINDS = { number: "Number", category: "Category", words: "Words", text: "Shown only" };

// The header and the records, uncut where a line end is inside quotes. Quotes are special at the start of a value alone.
export function records(text) {
  const found = [];
  let begin = 0;
  let quoted = false;
  let starts = true;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' && (quoted || starts)) {
      if (quoted && text[i + 1] === '"') i++;
      else quoted = !quoted;
    } else if (c === "\n" && !quoted) {
      found.push(text.slice(begin, i + 1));
      begin = i + 1;
    }
    starts = !quoted && (c === "," || c === "\n");
  }
  if (begin < text.length) found.push(text.slice(begin));
  return { header: found[0] ?? "", rows: found.slice(1).filter((row) => row.trim() !== "") };
}

export function parts({ header, rows }) {
  const start = header.endsWith("\n") ? header : `${header}\n`;
  const found = [];
  let count = 0;
  let part = start;
  for (const row of rows) {
    if (count === ROWS || (count && part.length + row.length > SIZE)) {
      found.push({ text: part, count });
      [part, count] = [start, 0];
    }
    part += row;
    count += 1;
  }
  if (count || !found.length) found.push({ text: part, count });
  return found;
}

export class Upload {
  // `preview(text)` asks the server how the file would be read; `chosen(known)` is called when that is known, and while
  // it is not. `fixed` columns are not for choosing.
  constructor(preview, chosen, fixed = false) {
    Object.assign(this, { preview, chosen, fixed });
    const empty = () => { this.input.value = ""; }; // or a browser says nothing when the same file is chosen again
    this.input = el("input", { type: "file", id: "file", accept: ".csv,text/csv", onclick: empty, onchange: () => this.take(this.input.files[0]) });
    this.note = el("p", { class: "note", role: "status" });
    this.table = wide("Preview");
    this.box = el("div", { class: "drop" }, el("label", { for: "file" }, "CSV file with a header line, then one item per line. Choose it, or drop it here."),
      this.input, this.note, this.table);
    const over = (event) => { event.preventDefault(); this.box.classList.toggle("over", event.type === "dragover"); };
    for (const type of ["dragover", "dragleave"]) this.box.addEventListener(type, over);
    this.box.addEventListener("drop", (event) => { over(event); if (!this.input.disabled) this.take(event.dataTransfer.files[0]); });
    this.clear();
  }

  clear() {
    this.parts = null;
    this.repeats = new Repeats();
    this.input.value = "";
    this.note.textContent = "";
    fill(this.table);
  }

  async take(file) {
    if (!file) return;
    this.parts = null;
    this.chosen(false);
    this.name = file.name.replace(/\.[^.]*$/, "");
    fill(this.table);
    this.note.textContent = "Reading…";
    const mine = this.reading = {};
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      const all = parts(records(text));
      const seen = await this.preview(all[0].text);
      if (mine !== this.reading) return; // another file was chosen meanwhile
      this.parts = all;
      this.file = `${file.name} ${file.size} ${file.lastModified}`;
      this.count = all.reduce((sum, { count }) => sum + count, 0);
      this.show(seen);
      this.note.textContent = `${number(this.count)} items in ${file.name}.`;
      this.chosen(true);
    } catch (problem) {
      if (mine === this.reading) this.note.textContent = problem instanceof TypeError ? "This file is not UTF-8 text; save it as UTF-8." : (problem.sentence ?? String(problem));
    }
  }

  show({ columns, rows }) {
    this.columns = columns;
    this.kinds = columns.map((column) => el("select", { "aria-label": `How ${column.name} is read` },
      Object.entries(KINDS).filter(([kind]) => kind === column.kind || kind === "text" || (kind === "number" && column.kind === "category") || (kind === "words" && column.kind !== "number"))
        .map(([kind, name]) => el("option", { value: kind, selected: kind === column.kind }, name))));
    fill(this.table, el("table", {}, el("caption", {}, "How each column is read, and the first rows"),
      el("thead", {}, el("tr", {}, columns.map(({ name }) => el("th", { scope: "col", dir: "auto" }, name))),
        this.fixed ? null : el("tr", {}, this.kinds.map((select) => el("td", {}, select)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map(({ name }) => el("td", { dir: "auto", class: "shown" }, short(row[name]))))))));
  }

  // The columns as chosen; a category may be only shown, and so may a number.
  choice() {
    return this.columns.map((column, i) => ({ ...column, kind: this.kinds[i].value, categories: this.kinds[i].value === "category" ? column.categories : [] }));
  }

  // Send the items, part by part; how many. Each part has a key of its own: sent again, after a lost response or with
  // the file chosen anew, none is added twice.
  async sendTo(project) {
    this.input.disabled = true;
    let sent = 0;
    try {
      for (const [i, { text }] of this.parts.entries()) {
        const key = this.repeats.key(`${project} ${this.file} ${i}`);
        sent += (await send("POST", inside(project, "/items.csv"), { project, text, key })).count;
        this.note.textContent = `${number(sent)} of ${number(this.count)} items sent.`;
      }
    } catch (problem) {
      this.note.textContent = `Stopped after ${number(sent)} of ${number(this.count)} items. Try again to continue: nothing is added twice.`;
      throw problem;
    } finally {
      this.input.disabled = false;
    }
    return sent;
  }
}

function short(value) {
  const text = String(value ?? "");
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
