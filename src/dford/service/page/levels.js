// The names of the levels, lowest first; put in order by dragging, by the arrow keys, or by buttons.

import { el, say } from "./dom.js";

export class Levels {
  constructor(names) {
    this.list = el("ol", { class: "levels" });
    this.box = el("fieldset", {}, el("legend", {}, "Levels, lowest first"), this.list,
      el("button", { type: "button", onclick: () => this.add("").focus() }, "Add a level"));
    names.forEach((name) => this.add(name));
  }

  values() {
    return [...this.list.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  }

  add(name) {
    const input = el("input", { type: "text", value: name, maxlength: 200, dir: "auto" });
    const move = (by) => () => this.move(row, by);
    const handle = el("button", { type: "button", class: "handle", title: "Drag, or use the arrow keys" }, "⠿");
    const row = el("li", {}, el("div", {}, handle, input,
      el("button", { type: "button", class: "up", onclick: move(-1) }, "↑"),
      el("button", { type: "button", class: "down", onclick: move(1) }, "↓"),
      el("button", { type: "button", class: "remove", onclick: () => this.remove(row) }, "×")));
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.move(row, by);
      handle.focus();
    });
    handle.addEventListener("pointerdown", (event) => this.drag(event, row, handle));
    this.list.append(row);
    this.number();
    return input;
  }

  drag(event, row, handle) {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    row.classList.add("dragged");
    const moved = ({ clientY }) => {
      for (const other of this.list.children) {
        const { top, height } = other.getBoundingClientRect();
        if (other === row || clientY < top || clientY > top + height) continue;
        const below = row.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (below ? clientY > top + height / 3 : clientY < top + (2 * height) / 3) {
          this.list.insertBefore(row, below ? other.nextSibling : other);
          handle.setPointerCapture(event.pointerId); // moving an element lets go of it
        }
        break;
      }
    };
    const ended = () => {
      row.classList.remove("dragged");
      handle.removeEventListener("pointermove", moved);
      this.number();
    };
    handle.addEventListener("pointermove", moved);
    for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, ended, { once: true });
  }

  move(row, by) {
    const other = by < 0 ? row.previousSibling : row.nextSibling;
    if (!other) return;
    this.list.insertBefore(row, by < 0 ? other : other.nextSibling);
    this.number();
    say(`${row.querySelector("input").value || "The level"} is now number ${[...this.list.children].indexOf(row) + 1}.`);
  }

  remove(row) {
    const next = row.nextSibling ?? row.previousSibling;
    row.remove();
    this.number();
    next?.querySelector("input").focus();
  }

  // Every control says which level it is about.
  number() {
    [...this.list.children].forEach((row, i) => {
      row.querySelector("input").setAttribute("aria-label", `Level ${i + 1}`);
      row.querySelector(".handle").setAttribute("aria-label", `Move level ${i + 1}: drag, or use the arrow keys`);
      row.querySelector(".up").setAttribute("aria-label", `Move level ${i + 1} up in the list`);
      row.querySelector(".down").setAttribute("aria-label", `Move level ${i + 1} down in the list`);
      row.querySelector(".remove").setAttribute("aria-label", `Remove level ${i + 1}`);
    });
  }
}
