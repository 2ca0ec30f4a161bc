// A new project from a file; and of one that is there: more items, invitations, files to download.

import { download, inside, keepKey, newKey, Problem, Repeats, send } from "./api.js";
import { busy, el, fill, notice, number, say } from "./dom.js";
import { Levels } from "./levels.js";
import { Upload } from "./upload.js";

const NAME = "[a-z0-9][a-z0-9\\-]{0,63}";
const ALLOWED = "Lowercase letters, digits and hyphens";

const valid = (name) => name.normalize("NFD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64);

export async function showNew(main) {
  await send("GET", "/projects"); // refused to those who may not set up
  const repeats = new Repeats();
  const upload = new Upload((text) => send("POST", "/preview.csv", { text }), (known) => {
    rest.disabled = !known;
    if (!known) return;
    if (!name.value) name.value = valid(upload.name);
    say("The file was read. Name the levels next.");
  });
  const name = el("input", { id: "name", type: "text", required: true, pattern: NAME, maxlength: 64, autocomplete: "off", title: ALLOWED });
  const levels = new Levels(["low", "middle", "high"]);
  const button = el("button", { class: "main" }, "Create project");
  const rest = el("fieldset", { class: "plain", disabled: true },
    el("p", {}, el("label", { for: "name" }, "Project name"), name), levels.box, el("p", {}, button));
  const create = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      const json = { name: name.value, levels: levels.values(), columns: upload.choice() };
      await send("POST", "/projects", { json, key: repeats.key(JSON.stringify(json)) });
      await upload.sendTo(json.name);
      location.hash = `#/${json.name}/answer`;
    });
  };
  fill(main, el("h1", { tabindex: "-1" }, "New project"), el("form", { class: "setup", onsubmit: create },
    el("h2", {}, "1. Items"), upload.box,
    el("h2", {}, "2. Scale"), rest));
}

export async function show(main, project) {
  const invite = invitations(project);
  fill(main, el("h1", { tabindex: "-1" }, `Set up ${project.name}`),
    el("div", { class: "setup" }, about(project), invite, files(project), items(project)));
  await invite.load();
}

function about({ description, state }) {
  const columns = description.columns ?? [];
  const list = (kind) => columns.filter((column) => column.kind === kind).map((column) => column.name).join(", ") || "none";
  const pair = (term, value) => el("div", {}, el("dt", {}, term), el("dd", { dir: "auto" }, value));
  return el("section", { class: "card" }, el("h2", {}, "Scale and columns"), el("dl", { class: "plain" },
    pair("Levels, lowest first", description.levels.join(", ")), pair("Learner", description.learner),
    pair("Items", number(state.items)), pair("Numbers", list("number")), pair("Categories", list("category")),
    pair("Words", list("words")), pair("Shown only", list("text"))));
}

// The first key of a server closes it to everybody without one: so the first is this person's own, and kept here.
class FirstKey {
  constructor() {
    this.key = null; // once made
    this.repeat = null;
  }

  async make() {
    const { open } = await send("GET", "/me").catch((problem) => {
      if (!this.repeat || problem.status !== 401) throw problem;
      throw new Problem(401, "first-key-lost", "The server made its first key, but the reply was lost on the way. Make another one on the server's machine with the command dford key, then reload this page and enter it.");
    });
    if (!open) return;
    this.repeat ??= newKey();
    this.key = (await send("POST", "/keys", { json: { role: "admin", name: "admin" }, key: this.repeat })).key;
    if (!keepKey(null, this.key)) notice("This browser's storage is full or switched off, so it cannot keep your key. Save it elsewhere.");
  }
}

function invitations(project) {
  const { name } = project;
  const who = el("input", { id: "who-answers", type: "text", required: true, pattern: NAME, maxlength: 64, autocomplete: "off", title: ALLOWED });
  const made = el("div", {});
  const list = el("div", {});
  const button = el("button", { class: "main" }, "Create link");
  const copyable = (id, label, value, note) => {
    const field = el("input", { id, type: "text", readonly: true, value, onfocus: (event) => event.target.select() });
    const copy = () => navigator.clipboard.writeText(value).then(() => say("Copied."), () => field.select());
    return el("div", { class: "copy" }, el("label", { for: id }, label), field,
      navigator.clipboard ? el("button", { type: "button", onclick: copy }, "Copy") : null, el("p", { class: "note" }, note));
  };
  const first = new FirstKey();
  let repeats = new Repeats();
  const invite = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      await first.make();
      const json = { role: "answer", name: who.value };
      const { key } = await project.send("POST", "/keys", { json, key: repeats.key(JSON.stringify(json)) });
      repeats = new Repeats(); // the same name again is another key
      const link = `${location.origin}/#/${encodeURIComponent(name)}/answer?key=${encodeURIComponent(key)}`;
      fill(made, copyable("link", `Link for ${json.name}`, link, `Anyone with this link answers as ${json.name}. It is shown only once: copy it now, and send it to nobody else.`),
        first.key && copyable("own-key", "Your own key", first.key, "This is the server's first key: from now on every request needs one. This browser keeps yours; save a copy elsewhere too."));
      if (["127.0.0.1", "localhost", "[::1]"].includes(location.hostname))
        made.append(el("p", { class: "note" }, "This server can only be reached from this machine. To invite others, serve on an address that they can reach (dford serve --host)."));
      who.value = "";
      await section.load();
    });
  };
  const section = el("section", { class: "card" }, el("h2", {}, "Invite"),
    el("form", { onsubmit: invite }, el("label", { for: "who-answers" }, "Person's name"), who, button), made, list);
  section.load = async () => {
    const keys = await project.send("GET", "/keys");
    const revoke = (key) => (event) => busy(event.target, async () => {
      await send("DELETE", inside(name, `/keys/${key.id}`), { project: name });
      await section.load();
    });
    fill(list, keys.length ? el("div", { class: "wide" }, el("table", {}, el("caption", {}, "Access keys of this project"),
      el("thead", {}, el("tr", {}, ["Name", "Role", ""].map((title) => (title ? el("th", { scope: "col" }, title) : el("td", {}))))),
      el("tbody", {}, keys.map((key) => el("tr", {}, el("th", { scope: "row" }, key.name), el("td", {}, key.role),
        el("td", {}, key.revoked ? "revoked" : el("button", { type: "button", onclick: revoke(key), "aria-label": `Revoke the key of ${key.name}` }, "Revoke"))))))) : null);
  };
  return section;
}

function files({ name }) {
  const take = (file) => (event) => busy(event.target, () => download(name, file));
  const row = (file, note) => el("li", {}, el("button", { type: "button", onclick: take(file) }, file), " ", note);
  return el("section", { class: "card" }, el("h2", {}, "Download"), el("ul", { class: "files" },
    row("levels.csv", "Every item with its level, the probability of each level, and the range that its own answers allow."),
    row("log.csv", "Every answer, in the format that dford tune and dford evaluate read."),
    row("log.parquet", "The same answers as Parquet.")));
}

function items(project) {
  const button = el("button", { class: "main", disabled: true }, "Add items");
  const upload = new Upload((text) => project.send("POST", "/preview.csv", { text }), (known) => { button.disabled = !known; }, true);
  const add = async (event) => {
    event.preventDefault();
    await busy(button, async () => {
      const count = await upload.sendTo(project.name);
      notice(`${number(count)} items were added.`, 8);
      upload.clear();
      project.look();
    });
    button.disabled = !upload.parts;
  };
  return el("section", { class: "card" }, el("h2", {}, "Add items"), el("form", { onsubmit: add }, upload.box, el("p", {}, button)));
}
