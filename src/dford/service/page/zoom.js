// Images in a scrolling box: fitted to it, or at their actual size, by key, click or tap.

import { el } from "./dom.js";
import { draw } from "./picture.js";

const STEP = 80; // pixels by which a key moves
const DRAG = 5; // pixels from which a click counts as a drag

/** @type {Record<string, [number, number]>} */
const DIRECTION_OF_KEY = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Zoom {
  /**
   * @param {HTMLElement} box
   * @param {() => void} changed
   */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    this.button = el("button", {
      type: "button", class: "zoom", "aria-pressed": "false", "aria-keyshortcuts": "z",
      onclick: () => this.toggle(),
    }, "Zoom ", el("kbd", { "aria-hidden": "true" }, "z"));
    this.wasDragged = false;
    box.addEventListener("pointerdown", (event) => this.drag(event));
    box.addEventListener("click", (event) => {
      if (event.target instanceof HTMLCanvasElement && !this.wasDragged) this.toggle(event);
    });
  }

  get isZoomed() {
    return this.box.classList.contains("zoomed");
  }

  /**
   * New images are fitted, so call this with false when the box was filled.
   * @param {boolean} zoomed
   */
  set(zoomed) {
    this.box.classList.toggle("zoomed", zoomed);
    for (const canvas of this.box.querySelectorAll("canvas")) draw(canvas);
    this.button.setAttribute("aria-pressed", String(zoomed));
    this.changed();
  }

  /**
   * Zoom to the place that was clicked, or to the middle.
   * @param {MouseEvent} [event]
   */
  toggle(event) {
    const canvas = event?.target instanceof HTMLCanvasElement ? event.target : this.box.querySelector("canvas");
    if (!canvas) return; // not loaded yet
    const [x, y] = event ? placeIn(canvas, event) : [.5, .5];
    this.set(!this.isZoomed);
    if (!this.isZoomed) this.box.scrollTo(0, 0);
    else {
      const { left, top } = canvas.getBoundingClientRect();
      const frame = this.box.getBoundingClientRect();
      this.box.scrollBy(left + x * canvas.width - frame.left - this.box.clientWidth / 2,
        top + y * canvas.height - frame.top - this.box.clientHeight / 2);
    }
    this.changed();
  }

  /**
   * Whether the key was handled: z, Escape, or an arrow with Shift (without it, arrows answer).
   * @param {KeyboardEvent} event
   */
  keyPressed({ key, shiftKey, repeat }) {
    if (key.toLowerCase() === "z") {
      if (!repeat) this.toggle();
      return true;
    }
    if (!this.isZoomed) return false;
    if (key === "Escape") {
      this.toggle();
      return true;
    }
    const direction = shiftKey && DIRECTION_OF_KEY[key];
    if (!direction) return false;
    this.box.scrollBy(STEP * direction[0], STEP * direction[1]);
    return true;
  }

  /**
   * Drag with a mouse. Fingers and pens scroll natively.
   * @param {PointerEvent} start
   */
  drag({ target, pointerType, button, clientX, clientY }) {
    this.wasDragged = false;
    if (!this.isZoomed || pointerType !== "mouse" || button !== 0 || !(target instanceof HTMLCanvasElement)) return;
    const { scrollLeft, scrollTop } = this.box;
    const end = new AbortController();
    const { signal } = end;
    addEventListener("pointermove", (event) => {
      const [right, down] = [event.clientX - clientX, event.clientY - clientY];
      this.wasDragged ||= Math.hypot(right, down) >= DRAG;
      if (this.wasDragged) this.box.scrollTo(scrollLeft - right, scrollTop - down);
    }, { signal });
    for (const type of ["pointerup", "pointercancel"]) addEventListener(type, () => end.abort(), { signal });
  }
}

/**
 * The place in the fitted image that a canvas shows, from 0 to 1.
 * @param {HTMLCanvasElement} canvas
 * @param {MouseEvent} event
 */
function placeIn(canvas, { clientX, clientY }) {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const factor = Math.min(width / canvas.width, height / canvas.height);
  /** @type {(distance: number, space: number, length: number) => number} */
  const part = (distance, space, length) =>
    Math.max(0, Math.min(1, (distance - (space - factor * length) / 2) / (factor * length)));
  return [part(clientX - left, width, canvas.width), part(clientY - top, height, canvas.height)];
}
