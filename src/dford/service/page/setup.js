// For an existing project: its scale and columns, invitations, files to download, more items.

import { download } from "./api.js";
import { AskingForm } from "./asking.js";
import { busy, el, fill, notice, number, setText } from "./dom.js";
import { Invitations } from "./invitations.js";
import { Upload } from "./upload.js";

/** @typedef {import("./project.js").Project} Project */

/**
 * @param {HTMLElement} main
 * @param {Project} project
 */
export async function show(main, project) {
  const invitations = new Invitations(project);
  const asking = project.description.choice === "pool" ? new AskingForm(project) : null;
  fill(main, el("p", { role: "status" }, "Loading…"));
  const items = el("dd", {}, number(project.state.items));
  const listeners = new AbortController();
  const { signal } = listeners;
  project.addEventListener("state", () => setText(items, number(project.state.items)), { signal });
  await Promise.all([invitations.load(), asking?.load()]); // first: what comes later would replace what was typed
  fill(main, el("h1", { tabindex: "-1" }, `Set up ${project.name}`), el("div", { class: "setup" },
    scaleAndColumns(project, items), invitations.section, asking && asking.section, downloads(project),
    addItems(project)));
  return () => listeners.abort();
}

/**
 * @param {Project} project
 * @param {Element} items how many there are
 */
function scaleAndColumns({ description }, items) {
  /** @type {[string, string[]][]} */
  const kinds = [["Ratings, from which the levels start", ["ratings"]], ["Images", ["image"]], ["Numbers", ["number"]], ["Categories", ["category", "order"]], ["Texts", ["text", "words"]],
    ["Vectors", ["vector"]], ["Dates", ["date"]], ["Shown only", ["shown"]]];
  const named = kinds.map(([title, some]) => /** @type {[string, string]} */ ([title,
    (description.columns ?? []).filter(({ kind, ratings }) => some.includes(ratings?.length ? "ratings" : kind)).map(({ name }) => name).join(", ")]));
  /** @type {(term: string, value: string) => Element} */
  const pair = (term, value) => el("div", {}, el("dt", {}, term), el("dd", { dir: "auto" }, value));
  return el("section", { class: "card" }, el("h2", {}, "Scale and columns"), el("dl", { class: "plain" },
    pair("Levels, lowest first", description.levels.join(", ")), pair("Learner", description.learner),
    el("div", {}, el("dt", {}, "Items"), items), named.filter(([, names]) => names).map(([title, names]) => pair(title, names))));
}

/** @param {Project} project */
function downloads({ name }) {
  const row = (/** @type {string} */ file, /** @type {string} */ note) => {
    const take = () => { busy(button, () => download(name, file)); };
    const button = el("button", { type: "button", onclick: take }, file);
    return el("li", {}, button, " ", note);
  };
  return el("section", { class: "card" }, el("h2", {}, "Download"), el("ul", { class: "files" },
    row("levels.csv", "Every item with its level, the probability of each level, the range that its own answers allow, and who settled it."),
    row("log.csv", "Every answer except those to gold questions, in the format that dford tune and dford evaluate read."),
    row("log.parquet", "The same answers as Parquet.")));
}

/** @param {Project} project */
function addItems(project) {
  const button = el("button", { class: "main", disabled: true }, "Add items");
  const preview = (/** @type {string} */ text) => project.send("POST", "/preview.csv", { text });
  const upload = new Upload(preview, (known) => { button.disabled = !known; }, true);
  const add = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    await busy(button, async () => {
      const count = await upload.sendTo(project.name);
      notice(`${number(count)} ${count === 1 ? "item was" : "items were"} added.`, 8);
      upload.clear();
      project.refreshSoon();
    });
    button.disabled = !upload.isKnown;
  };
  return el("section", { class: "card" }, el("h2", {}, "Add items"),
    el("form", { onsubmit: add }, upload.box, el("p", {}, button)));
}
