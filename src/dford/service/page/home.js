// All projects, for those who may see them; a key for one project leads there.

import { send } from "./api.js";
import { el, fill } from "./dom.js";

/**
 * @param {HTMLElement} main
 * @param {Server.Me} me
 */
export async function show(main, { project }) {
  if (project) {
    location.replace(`#/${encodeURIComponent(project)}/answer`);
    return;
  }
  /** @type {Server.ProjectOut[]} */
  const projects = await send("GET", "/projects");
  /** @type {(name: string, view: string, text: string) => Element} */
  const link = (name, view, text) => el("a", { href: `#/${encodeURIComponent(name)}/${view}` }, text);
  fill(main, el("h1", { tabindex: "-1" }, "Projects"),
    projects.length ? el("ul", { class: "projects" }, projects.map(({ name, levels }) => el("li", { class: "card" },
      el("h2", {}, link(name, "answer", name)),
      el("p", { class: "note" }, levels.join(" < ")),
      el("p", {}, link(name, "watch", "Watch"), " · ", link(name, "setup", "Set up")))))
      : el("p", {}, "No projects yet. Upload a CSV file, name the levels and start answering."),
    el("p", {}, el("a", { class: "main", href: "#/new" }, "New project")),
    el("p", { class: "note" }, "For programs: ", el("a", { href: "/docs" }, "HTTP reference")));
}
