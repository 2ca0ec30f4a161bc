// A new project from a file, or from images.

import { IdempotencyKeys, Problem, send, sentenceOf } from "./api.js";
import { busy, el, fill, say } from "./dom.js";
import { LevelsEditor } from "./levels-editor.js";
import { nameInput, nextName, validName } from "./names.js";
import { Upload } from "./upload.js";

/** @param {HTMLElement} main */
export async function show(main) {
  await send("GET", "/projects"); // refused for those who may not create projects
  const keys = new IdempotencyKeys();
  let [ofFile, isTyped] = ["", false]; // the latest name that a file suggested; whether somebody chose the name
  const preview = (/** @type {string} */ text, /** @type {string[]} */ scale = []) =>
    send("POST", `/preview.csv?${new URLSearchParams(scale.map((level) => ["level", level]))}`, { text });
  const upload = new Upload(preview, (known) => {
    rest.disabled = !known;
    if (!known) return;
    const found = validName(upload.name);
    if (!name.value || (!isTyped && found !== ofFile)) name.value = found;
    ofFile = found;
    say("The items have been read. Now name the levels.");
    upload.findRatings(levels.values()).catch(() => undefined); // tried again when the project is created
  });
  const name = nameInput("name");
  name.addEventListener("input", () => { isTyped = true; });
  const levels = new LevelsEditor(["low", "middle", "high"]);
  levels.box.addEventListener("change", () => { upload.findRatings(levels.values()).catch(() => undefined); });
  const button = el("button", { class: "main" }, "Create project");
  const rest = el("fieldset", { class: "plain", disabled: true },
    el("p", {}, el("label", { for: "name" }, "Project name"), name), levels.box, el("p", {}, button));
  const create = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    return busy(button, async () => {
      await upload.findRatings(levels.values());
      const [columns, gold] = [upload.choice(), upload.goldColumn()];
      const json = { name: name.value, levels: levels.values(), columns, gold_column: gold };
      await send("POST", "/projects", { json, key: keys.of(JSON.stringify(json)) });
      try {
        await upload.sendTo(json.name);
      } catch (error) {
        if (!(error instanceof Problem) || error.temporary || upload.added) throw error;
        name.value = nextName(json.name); // the columns of a project cannot be changed
        throw new Problem(error.status, error.code,
          `${sentenceOf(error)} Project ${json.name} was created, but has no items. Correct this, and create ${name.value} instead.`);
      }
      location.hash = `#/${json.name}/answer`;
    });
  };
  fill(main, el("h1", { tabindex: "-1" }, "New project"), el("form", { class: "setup", onsubmit: create },
    el("h2", {}, "1. Items"), upload.box,
    el("h2", {}, "2. Scale"), rest));
}
