// Invitation links for people, and the access keys of a project.

import { keepKey } from "./access-keys.js";
import { asProblem, IdempotencyKeys, newIdempotencyKey, Problem, send } from "./api.js";
import { busy, el, fill, notice, say } from "./dom.js";

const THIS_MACHINE = ["127.0.0.1", "localhost", "[::1]"];

export class Invitations {
  /** @param {import("./project.js").Project} project */
  constructor(project) {
    this.project = project;
    this.first = new FirstKey();
    this.requests = new IdempotencyKeys();
    this.person = el("input", { id: "who-answers", type: "text", required: true, maxlength: 200, autocomplete: "off" });
    this.button = el("button", { class: "main" }, "Create link");
    this.ownKey = el("div", {});
    this.made = el("div", {}); // every link, as each is shown only once
    this.list = el("div", {});
    const invite = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      return busy(this.button, () => this.invite(this.person.value.trim()));
    };
    this.section = el("section", { class: "card" }, el("h2", {}, "Invite"),
      el("form", { onsubmit: invite }, el("label", { for: "who-answers" }, "Person's name"), this.person, this.button),
      this.ownKey, this.made, this.list);
  }

  /** @param {string} name */
  async invite(name) {
    await this.first.make();
    this.showOwnKey(); // before anything else can go wrong
    const json = { role: "answer", name };
    const { key } = await this.project.send("POST", "/keys", { json, key: this.requests.of(JSON.stringify(json)) });
    this.requests = new IdempotencyKeys(); // the same name again is another key
    this.showLink(name, key);
    if (this.person.value.trim() === name) this.person.value = ""; // unless the next name is being typed
    await this.load();
  }

  /**
   * @param {string} name
   * @param {string} key
   */
  showLink(name, key) {
    const link = `${location.origin}/#/${encodeURIComponent(this.project.name)}/answer?key=${encodeURIComponent(key)}`;
    const id = `link-${this.made.childElementCount}`;
    if (!this.made.childElementCount && THIS_MACHINE.includes(location.hostname))
      this.made.append(el("p", { class: "note" }, "This server can only be reached from this machine. To invite others, start it on an address they can reach (dford serve --host)."));
    this.made.prepend(
      copyable(id, `Link for ${name}`, link, `Anyone with this link answers as ${name}. It is shown only once: copy it now, and send it only to them.`));
  }

  showOwnKey() {
    const { key } = this.first;
    if (!key || this.ownKey.childElementCount) return;
    fill(this.ownKey,
      copyable("own-key", "Your own key", key, "This is the server's first key: from now on every request needs one. This browser keeps yours; save a copy elsewhere too."));
  }

  async load() {
    /** @type {Server.KeyOut[]} */
    const keys = await this.project.send("GET", "/keys");
    fill(this.list, keys.length ? el("div", { class: "wide" }, el("table", {},
      el("caption", {}, "Access keys of this project"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Name"), el("th", { scope: "col" }, "Role"), el("td", {}))),
      el("tbody", {}, keys.map((key) => el("tr", {}, el("th", { scope: "row", dir: "auto", class: "shown" }, key.name), el("td", {}, key.role),
        el("td", {}, key.revoked ? "revoked" : this.revokeButton(key))))))) : null);
  }

  /** @param {Server.KeyOut} key */
  revokeButton({ id, name }) {
    const work = async () => {
      await this.project.send("DELETE", `/keys/${id}`);
      await this.load();
    };
    const revoke = () => { busy(button, work); };
    const button = el("button", { type: "button", onclick: revoke, "aria-label": `Revoke the key for ${name}` }, "Revoke");
    return button;
  }
}

// The first key of a server locks out everyone without one, so the first is for this person, and kept here.
class FirstKey {
  constructor() {
    /** @type {string | null} */
    this.key = null; // once made
    /** @type {string | null} */
    this.request = null; // its Idempotency-Key, once sent
  }

  async make() {
    if (!(await this.isServerOpen())) return;
    this.request ??= newIdempotencyKey();
    const json = { role: "admin", name: "admin" };
    /** @type {Server.KeyShown} */
    const { key } = await send("POST", "/keys", { json, key: this.request });
    this.key = key;
    if (!keepKey(null, key)) notice("This browser's storage is full or switched off, so it cannot keep your key. Save it elsewhere.");
  }

  async isServerOpen() {
    try {
      /** @type {Server.Me} */
      const { open } = await send("GET", "/me");
      return open;
    } catch (error) {
      if (!this.request || asProblem(error).status !== 401) throw error;
      throw new Problem(401, "first-key-lost", "The server created its first key, but the reply was lost. Create another one with the command dford key on the server's machine, then reload this page and enter it.");
    }
  }
}

/**
 * @param {string} id
 * @param {string} label
 * @param {string} value
 * @param {string} note
 */
function copyable(id, label, value, note) {
  const field = el("input", { id, type: "text", readonly: true, value, onfocus: () => { field.select(); } });
  const copy = () => navigator.clipboard.writeText(value).then(() => say("Copied."), () => field.select());
  return el("div", { class: "copy" }, el("label", { for: id }, label), field,
    navigator.clipboard ? el("button", { type: "button", onclick: copy }, "Copy") : null, el("p", { class: "note" }, note));
}
