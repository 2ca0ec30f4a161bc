// A new project from a file; and of one that is there: more items, invitations, files to take away.

import { download, inside, keepKey, keyOf, send } from "./api.js";
import { busy, el, fill, notice, number, say } from "./dom.js";
import { Levels } from "./levels.js";
import { Upload } from "./upload.js";

const NAME = "[a-z0-9][a-z0-9\\-]{0,63}";

const valid = (name) => name.normalize("NFD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64);

export async function showNew(main) {
  await send("GET", "/projects"); // refused to whoever may not set up
  const upload = new Upload((text) => send("POST", "/preview.csv", { text }), () => {
    if (!name.value) name.value = valid(upload.name);
    rest.disabled = false;
    say("The file was read. Name the levels next.");
  });
  const name = el("input", { id: "name", type: "text", required: true, pattern: NAME, maxlength: 64, autocomplete: "off",
    title: "Small letters, digits and hyphens" });
  const levels = new Levels(["low", "middle", "high"]);
  const button = el("button", { class: "main" }, "Begin");
  const rest = el("fieldset", { class: "plain", disabled: true },
    el("p", {}, el("label", { for: "name" }, "Name of the project"), name), levels.box, el("p", {}, button));
  const create = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      const project = name.value;
      if (made !== project) { // after a broken line, go on with the items
        await send("POST", "/projects", { json: { name: project, levels: levels.values(), columns: upload.choice() } });
        made = project;
      }
      await upload.sendTo(project, (sent, all) => say(`${number(sent)} of ${number(all)} items sent`));
      location.hash = `#/${project}/answer`;
    });
  };
  let made = null;
  fill(main, el("h1", { tabindex: "-1" }, "New project"), el("form", { class: "setup", onsubmit: create },
    el("h2", {}, "1. The items"), upload.box,
    el("h2", {}, "2. The scale"), rest));
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
  return el("section", { class: "card" }, el("h2", {}, "The scale"), el("dl", { class: "plain" },
    pair("Levels, lowest first", description.levels.join(", ")), pair("Learner", description.learner),
    pair("Items", number(state.items)), pair("Numbers", list("number")), pair("Categories", list("category")),
    pair("Words", list("words")), pair("Only shown", list("text"))));
}

// The first key of a server closes it to everybody without one: so the first is this person's own, and kept here.
async function secure() {
  const { open } = await send("GET", "/me");
  if (!open) return null;
  const { key } = await send("POST", "/keys", { json: { role: "admin", name: "admin" } });
  keepKey(null, key);
  return key;
}

function invitations(project) {
  const { name } = project;
  const who = el("input", { id: "who", type: "text", required: true, pattern: NAME, maxlength: 64, autocomplete: "off",
    title: "Small letters, digits and hyphens" });
  const made = el("div", {});
  const list = el("div", {});
  const button = el("button", { class: "main" }, "Make a link");
  const copyable = (id, label, value, note) => {
    const field = el("input", { id, type: "text", readonly: true, value, onfocus: (event) => event.target.select() });
    const copy = () => navigator.clipboard.writeText(value).then(() => say("Copied."), () => field.select());
    return el("div", { class: "copy" }, el("label", { for: id }, label), field,
      navigator.clipboard ? el("button", { type: "button", onclick: copy }, "Copy") : null, el("p", { class: "note" }, note));
  };
  const invite = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      const admin = await secure();
      const { key } = await project.send("POST", "/keys", { json: { role: "answer", name: who.value } });
      const link = `${location.origin}/#/${encodeURIComponent(name)}/answer?key=${encodeURIComponent(key)}`;
      fill(made, copyable("link", `Link for ${who.value}`, link, "It holds a key to answer in this project. It is shown this once; send it to this person alone."),
        admin && copyable("own-key", "Your own key", admin, "It is the server's first: from now on every request needs one. This browser keeps yours; keep it elsewhere too."));
      if (["127.0.0.1", "localhost", "[::1]"].includes(location.hostname))
        made.append(el("p", { class: "note" }, "This server is reached from this machine alone: to invite others, serve on an address that they reach (dford serve --host)."));
      who.value = "";
      await section.load();
    });
  };
  const section = el("section", { class: "card" }, el("h2", {}, "Invite"),
    el("form", { onsubmit: invite }, el("label", { for: "who" }, "Name of the person"), who, button), made, list);
  section.load = async () => {
    const keys = await project.send("GET", "/keys");
    const revoke = (key) => (event) => busy(event.target, async () => {
      await send("DELETE", inside(name, `/keys/${key.id}`), { project: name });
      await section.load();
    });
    fill(list, keys.length ? el("div", { class: "wide" }, el("table", {}, el("caption", {}, "Keys of this project"),
      el("thead", {}, el("tr", {}, ["Name", "May", ""].map((title) => (title ? el("th", { scope: "col" }, title) : el("td", {}))))),
      el("tbody", {}, keys.map((key) => el("tr", {}, el("th", { scope: "row" }, key.name), el("td", {}, key.role),
        el("td", {}, key.revoked ? "revoked" : el("button", { type: "button", onclick: revoke(key), "aria-label": `Revoke the key of ${key.name}` }, "Revoke"))))))) : null,
    keyOf(null) || keyOf(name) ? el("p", {}, el("button", { type: "button", onclick: () => forget(name) }, "Forget my key in this browser")) : null);
  };
  return section;
}

function forget(name) {
  keepKey(name, null);
  keepKey(null, null);
  location.hash = "#/";
}

function files({ name }) {
  const take = (file) => (event) => busy(event.target, () => download(name, file));
  const row = (file, note) => el("li", {}, el("button", { type: "button", onclick: take(file) }, file), " ", note);
  return el("section", { class: "card" }, el("h2", {}, "Take away"), el("ul", { class: "files" },
    row("levels.csv", "Every item with its level, the probabilities, and what its own answers leave."),
    row("log.csv", "Every answer, as dford tune and dford evaluate read it."),
    row("log.parquet", "The same, for programs.")));
}

function items(project) {
  const button = el("button", { class: "main", disabled: true }, "Add the items");
  const upload = new Upload((text) => project.send("POST", "/preview.csv", { text }), () => { button.disabled = false; });
  const reading = upload.show.bind(upload);
  upload.show = (seen) => reading(seen, true); // the columns are set
  const add = (event) => {
    event.preventDefault();
    return busy(button, async () => {
      await upload.sendTo(project.name, () => {});
      notice(`${number(upload.count)} items were added.`, 8);
      project.look();
    });
  };
  return el("section", { class: "card" }, el("h2", {}, "More items"), el("form", { onsubmit: add }, upload.box, el("p", {}, button)));
}
