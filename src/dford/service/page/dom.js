// Elements are created here and nowhere else. What comes from items or people is only ever set as text.

import { sentenceOf } from "./api.js";

/**
 * @typedef {Element | string | null | undefined} Child null and undefined are left out
 * @typedef {Child | Child[]} Children
 */

/**
 * Attributes by name (true: set without a value; false or null: not set), and listeners by "on" and their event.
 * @typedef {{
 *   onclick?: (event: MouseEvent) => unknown,
 *   onsubmit?: (event: SubmitEvent) => unknown,
 *   onchange?: (event: Event) => unknown,
 *   onfocus?: (event: FocusEvent) => unknown,
 *   [attribute: string]: string | number | boolean | null | undefined | ((event: any) => unknown),
 * }} Properties
 */

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} properties
 * @param {Children[]} children
 */
export function el(tag, properties = {}, ...children) {
  return complete(document.createElement(tag), properties, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} properties
 * @param {Children[]} children
 */
export function svgEl(tag, properties = {}, ...children) {
  return complete(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Properties} properties
 * @param {Children[]} children
 */
function complete(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice("on".length), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  fill(element, ...children);
  return element;
}

/**
 * A name inside a sentence, which it leaves in order even if it is written from right to left.
 * @param {string} name
 */
export const bdi = (name) => el("bdi", {}, name);

export const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {Element} element
 * @param {Children[]} children instead of those it has
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child != null));
}

/**
 * Set a text only if it differs, because a screen reader repeats whatever is set again.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Only read out by screen readers, not visible.
 * @param {string} sentence
 */
export function say(sentence) {
  byId("spoken").textContent = sentence;
}

/**
 * Shown until it is dismissed, or for some seconds.
 * @param {string} sentence
 * @returns {Element}
 */
export function notice(sentence, seconds = 0) {
  const shown = [...byId("notices").children].find((one) => one.querySelector("span")?.textContent === sentence);
  if (shown) return shown;
  const close = () => { box.remove(); };
  const box = el("p", { class: "notice" }, el("span", {}, sentence),
    el("button", { type: "button", onclick: close, "aria-label": "Dismiss this message" }, "×"));
  byId("notices").append(box);
  if (seconds) setTimeout(close, 1000 * seconds);
  return box;
}

/**
 * A box that scrolls, also by keyboard, for content that may be wider than a small screen.
 * @param {string} label
 * @param {Children[]} children
 */
export function scrollable(label, ...children) {
  return el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label }, ...children);
}

/** @type {WeakMap<HTMLButtonElement, Element>} */
const failures = new WeakMap(); // what is shown of the latest attempt

/**
 * Disable a form's button while its work is in progress, and show what goes wrong, until the next attempt.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<void>} work
 */
export async function busy(button, work) {
  button.disabled = true;
  failures.get(button)?.remove();
  try {
    await work();
  } catch (error) {
    failures.set(button, notice(sentenceOf(error)));
  } finally {
    button.disabled = false;
  }
}

/** @param {number | null | undefined} value */
export function number(value, digits = 2) {
  return value == null ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits, signDisplay: "negative" });
}

/**
 * How certain a level is; what is not known for sure is never rounded to 100%.
 * @param {number} probability
 */
export function certainty(probability) {
  const isRounded = probability < 1 && Math.round(100 * probability) === 100;
  return isRounded ? "over 99% certain" : `${number(100 * probability, 0)}% certain`;
}
