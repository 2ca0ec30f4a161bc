// A chart of figures over answers: lines and, if there is one, a band. The figures are also shown as a table.

import { el, fill, number, scrollable, svgEl } from "./dom.js";

const [HEIGHT, LEFT, BELOW, ABOVE, RIGHT, LINE] = [240, 44, 28, 10, 12, 15];
const SLACK = 4; // pixels by which a name may be nearer to another line than to its own

/**
 * @typedef {object} Row
 * @property {number} answers
 * @property {number[]} values one for each name
 * @property {number} [low] of the band
 * @property {number} [high]
 */

/**
 * @param {Element} box
 * @param {object} chart
 * @param {string} chart.label
 * @param {string[]} chart.names written beside their lines if there are several, as far as there is room
 * @param {Row[]} chart.rows
 * @param {number | null} [chart.least] where the vertical axis begins
 */
export function draw(box, { label, names, rows, least = null }) {
  if (!rows.length) {
    fill(box, el("p", { class: "nothing" }, "No data yet. The chart starts with the first answers."));
    return;
  }
  const lastRow = rows[rows.length - 1];
  const width = Math.max(box.clientWidth, 260);
  const longest = Math.max(...names.map((name) => name.length));
  const right = names.length > 1 ? Math.min(7.5 * longest + 10, width / 2.6) : RIGHT;
  const [first, last] = [rows[0].answers, Math.max(lastRow.answers, rows[0].answers + 1)];
  const all = rows.flatMap(({ values, low, high }) => [...values, low, high]).filter((value) => value != null);
  const [bottom, top] = spread(least ?? Math.min(...all), Math.max(...all));
  // there are ten checkpoints per decade, so a logarithmic axis spaces them evenly
  const x = (/** @type {number} */ answers) =>
    LEFT + (Math.log(answers / first) / Math.log(last / first)) * (width - LEFT - right);
  const y = (/** @type {number} */ value) => ABOVE + ((top - value) / (top - bottom)) * (HEIGHT - ABOVE - BELOW);
  const path = (/** @type {number[][]} */ points) =>
    points.map(([answers, value], i) => `${i ? "L" : "M"}${x(answers).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const band = rows.flatMap(({ answers, low, high }) => (low == null || high == null ? [] : [{ answers, low, high }]));
  const edge = [...band.map((r) => [r.answers, r.high]), ...band.toReversed().map((r) => [r.answers, r.low])];
  const svg = svgEl("svg", { width, height: HEIGHT, class: "chart", role: "img", "aria-label": label },
    upright(bottom, top).map((value) => svgEl("g", { class: "tick" },
      svgEl("line", { x1: LEFT, x2: width - right, y1: y(value), y2: y(value) }),
      svgEl("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)))),
    decades(first, last).map((value) =>
      svgEl("text", { x: x(value), y: HEIGHT - 8, "text-anchor": "middle" }, number(value, 0))),
    band.length > 1 ? svgEl("path", { class: "band", d: `${path(edge)}Z` }) : null,
    names.map((_, k) =>
      svgEl("path", { class: `line line-${k % 6}`, d: path(rows.map((r) => [r.answers, r.values[k]])) })),
    rows.length > 1 ? null
      : rows[0].values.map((value) => svgEl("circle", { class: "point", r: 3, cx: x(first), cy: y(value) })),
    names.length === 1 ? null
      : beside(lastRow.values.map(y)).map(({ k, at }) =>
        svgEl("text", { x: width - right + 6, y: at + 4 }, names[k])));
  const open = box.querySelector("details")?.open ?? false;
  fill(box, svg, el("details", { open }, el("summary", {}, "Show as table"), table(names, rows)));
}

/**
 * Heights of names beside lines that end at these heights, without the names that would stand beside other lines.
 * @param {number[]} ends
 */
function beside(ends) {
  const isNear = (/** @type {number} */ at, /** @type {number} */ end) =>
    Math.abs(at - end) <= Math.min(...ends.map((other) => Math.abs(at - other))) + SLACK;
  /** @type {{ k: number, at: number }[]} */
  let found = [];
  for (const k of ends.map((_, i) => i).sort((a, b) => ends[a] - ends[b])) {
    const some = [...found.map((one) => one.k), k];
    const heights = apart(some.map((one) => ends[one]));
    if (!heights || !heights.every((at, i) => isNear(at, ends[some[i]]))) continue;
    found = heights.map((at, i) => ({ k: some[i], at }));
  }
  return found;
}

/**
 * Heights in ascending order, moved up and down alike where they would overlap; null if there are too many.
 * @param {number[]} heights
 */
function apart(heights) {
  const last = heights.length - 1;
  const [lowest, highest] = [HEIGHT - BELOW - last * LINE, ABOVE];
  if (lowest < highest) return null;
  const [down, up] = [[...heights], [...heights]];
  for (let i = 1; i <= last; i++) down[i] = Math.max(down[i], down[i - 1] + LINE);
  for (let i = last - 1; i >= 0; i--) up[i] = Math.min(up[i], up[i + 1] - LINE);
  return heights.map((_, i) => (Math.min(down[i], lowest + i * LINE) + Math.max(up[i], highest + i * LINE)) / 2);
}

/**
 * @param {string[]} names
 * @param {Row[]} rows
 */
function table(names, rows) {
  const banded = rows.some(({ low }) => low != null);
  const head = ["Answers", ...names, ...(banded ? ["At least", "At most"] : [])];
  const cells = (/** @type {Row} */ { answers, values, low, high }) =>
    [number(answers), ...[...values, ...(banded ? [low, high] : [])].map((value) => number(value, 3))];
  return scrollable("Table", el("table", {},
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row).map((cell) => el("td", {}, cell)))))));
}

/**
 * @param {number} bottom
 * @param {number} top
 */
function spread(bottom, top) {
  return top > bottom ? [bottom, top] : [bottom - 0.5, top + 0.5];
}

/**
 * @param {number} bottom
 * @param {number} top
 */
function upright(bottom, top) {
  const rough = (top - bottom) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find((times) => unit * times >= rough) ?? 10);
  const found = [];
  for (let k = Math.ceil(bottom / step); k * step <= top + 1e-9; k++) found.push(k * step);
  return found;
}

/**
 * @param {number} first
 * @param {number} last
 */
function decades(first, last) {
  const found = [];
  for (let value = 10 ** Math.ceil(Math.log10(first)); value <= last; value *= 10) found.push(value);
  if (last / (found.at(-1) ?? first) > 2) found.push(last);
  return found.length ? found : [first, last];
}
