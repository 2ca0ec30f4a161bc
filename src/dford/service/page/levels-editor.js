// The names of the levels, lowest first; put in order by dragging, by the arrow keys, or by buttons.

import { el, say } from "./dom.js";

/** @type {Record<string, -1 | 1>} */
const MOVE_OF_KEY = { ArrowUp: -1, ArrowDown: 1 };

export class LevelsEditor {
  /** @param {string[]} names */
  constructor(names) {
    this.list = el("ol", { class: "levels" });
    this.box = el("fieldset", {}, el("legend", {}, "Levels, lowest first"), this.list,
      el("button", { type: "button", onclick: () => this.add("").focus() }, "Add a level"));
    names.forEach((name) => this.add(name));
  }

  values() {
    return [...this.list.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  }

  /** @param {string} name */
  add(name) {
    const input = el("input", { type: "text", value: name, maxlength: 200, dir: "auto", "data-label": "Level #" });
    const handle = el("button", {
      type: "button", class: "handle", title: "Drag, or use the arrow keys",
      "data-label": "Move level #: drag, or use the arrow keys",
    }, "⠿");
    /** @type {(text: string, label: string, onclick: () => void) => Element} */
    const button = (text, label, onclick) => el("button", { type: "button", "data-label": label, onclick }, text);
    const row = el("li", {}, el("div", {}, handle, input,
      button("↑", "Move level # up in the list", () => this.move(row, -1)),
      button("↓", "Move level # down in the list", () => this.move(row, 1)),
      button("×", "Remove level #", () => this.remove(row))));
    handle.addEventListener("keydown", (event) => {
      const by = MOVE_OF_KEY[event.key];
      if (!by) return;
      event.preventDefault();
      this.move(row, by);
      handle.focus();
    });
    handle.addEventListener("pointerdown", (event) => this.drag(event, row, handle));
    this.list.append(row);
    this.setLabels();
    return input;
  }

  /**
   * @param {PointerEvent} event
   * @param {Element} row
   * @param {HTMLElement} handle
   */
  drag(event, row, handle) {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    row.classList.add("dragged");
    const moved = (/** @type {PointerEvent} */ { clientY }) => {
      for (const other of this.list.children) {
        const { top, height } = other.getBoundingClientRect();
        if (other === row || clientY < top || clientY > top + height) continue;
        const below = row.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (below ? clientY > top + height / 3 : clientY < top + (2 * height) / 3) {
          this.list.insertBefore(row, below ? other.nextSibling : other);
          handle.setPointerCapture(event.pointerId); // moving an element releases it
        }
        break;
      }
    };
    const ended = () => {
      row.classList.remove("dragged");
      handle.removeEventListener("pointermove", moved);
      this.setLabels();
    };
    handle.addEventListener("pointermove", moved);
    handle.addEventListener("pointerup", ended, { once: true });
    handle.addEventListener("pointercancel", ended, { once: true });
  }

  /**
   * @param {Element} row
   * @param {-1 | 1} by
   */
  move(row, by) {
    const other = by < 0 ? row.previousSibling : row.nextSibling;
    if (!other) return;
    this.list.insertBefore(row, by < 0 ? other : other.nextSibling);
    this.setLabels();
    const name = row.querySelector("input")?.value || "The level";
    say(`${name} is now number ${[...this.list.children].indexOf(row) + 1}.`);
  }

  /** @param {Element} row */
  remove(row) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    this.setLabels();
    next?.querySelector("input")?.focus();
  }

  // Every control says which level it is about.
  setLabels() {
    [...this.list.children].forEach((row, i) => row.querySelectorAll("[data-label]").forEach((control) => {
      control.setAttribute("aria-label", String(control.getAttribute("data-label")).replace("#", String(i + 1)));
    }));
  }
}
