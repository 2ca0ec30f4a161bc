// Elements are made here and nowhere else. What comes from items or people is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "line", "path", "circle", "rect", "text", "title"]);

export function el(tag, properties = {}, ...children) {
  const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child != null));
}

// Said by a screen reader, and seen by nobody.
export function say(sentence) {
  byId("spoken").textContent = sentence;
}

// Shown until it is dismissed, or for some seconds.
export function notice(sentence, seconds = 0) {
  const same = [...byId("notices").children].find((one) => one.dataset.sentence === sentence);
  if (same) return;
  const close = () => box.remove();
  const box = el("p", { class: "notice", "data-sentence": sentence }, el("span", {}, sentence),
    el("button", { type: "button", onclick: close, "aria-label": "Dismiss this message" }, "×"));
  byId("notices").append(box);
  if (seconds) setTimeout(close, 1000 * seconds);
}

// What may be wider than a small screen scrolls, by the keyboard too.
export const wide = (label, ...children) => el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label }, ...children);

// A form's own button is busy while its work is under way, and what goes wrong is said.
export async function busy(button, work) {
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    notice(error.words ? `${error.words}.` : String(error));
    return undefined;
  } finally {
    button.disabled = false;
  }
}

export function number(value, digits = 2) {
  return value == null ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits });
}
