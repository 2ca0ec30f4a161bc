// A chart of figures over answers: lines, and a band where there is one. The figures are a table too.

import { el, fill, number, wide } from "./dom.js";

const [HEIGHT, LEFT, BELOW, ABOVE, RIGHT, LINE] = [240, 44, 28, 10, 12, 15];

// `rows` of { answers, values: [...], low, high }, one value for each name; names are written where there are several.
export function draw(box, { label, names, rows, least = null }) {
  if (!rows.length) return fill(box, el("p", { class: "nothing" }, "No data yet. The chart starts with the first answers."));
  const width = Math.max(box.clientWidth, 260);
  const right = names.length > 1 ? Math.min(7.5 * Math.max(...names.map((name) => name.length)) + 10, width / 2.6) : RIGHT;
  const [first, last] = [rows[0].answers, Math.max(rows.at(-1).answers, rows[0].answers + 1)];
  const all = rows.flatMap(({ values, low, high }) => [...values, low, high]).filter((value) => value != null);
  const [bottom, top] = spread(least ?? Math.min(...all), Math.max(...all));
  // ten checkpoints per decade: a logarithmic axis gives each its room
  const x = (answers) => LEFT + (Math.log(answers / first) / Math.log(last / first)) * (width - LEFT - right);
  const y = (value) => ABOVE + ((top - value) / (top - bottom)) * (HEIGHT - ABOVE - BELOW);
  const path = (points) => points.map(([a, v], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const banded = rows.filter(({ low }) => low != null);
  const edge = [...banded.map((r) => [r.answers, r.high]), ...banded.toReversed().map((r) => [r.answers, r.low])];
  const svg = el("svg", { width, height: HEIGHT, class: "chart", role: "img", "aria-label": label },
    upright(bottom, top).map((value) => el("g", { class: "tick" },
      el("line", { x1: LEFT, x2: width - right, y1: y(value), y2: y(value) }),
      el("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)))),
    decades(first, last).map((value) => el("text", { x: x(value), y: HEIGHT - 8, "text-anchor": "middle" }, number(value, 0))),
    banded.length > 1 ? el("path", { class: "band", d: `${path(edge)}Z` }) : null,
    names.map((_, k) => el("path", { class: `line line-${k % 6}`, d: path(rows.map((r) => [r.answers, r.values[k]])) })),
    rows.length === 1 ? rows[0].values.map((value) => el("circle", { class: "point", r: 3, cx: x(first), cy: y(value) })) : null,
    names.length > 1 ? apart(rows.at(-1).values.map(y)).map((at, k) => el("text", { x: width - right + 6, y: at + 4 }, names[k])) : null);
  const open = box.querySelector("details")?.open ?? false;
  fill(box, svg, el("details", { open }, el("summary", {}, "Show as table"), table(names, rows)));
  return undefined;
}

// Heights of names that would be written over each other, moved apart.
function apart(heights) {
  const order = heights.map((_, k) => k).sort((a, b) => heights[a] - heights[b]);
  const found = [...heights];
  order.forEach((k, i) => { if (i) found[k] = Math.max(found[k], found[order[i - 1]] + LINE); });
  const over = Math.max(0, found[order.at(-1)] - (HEIGHT - BELOW));
  return found.map((at) => at - over);
}

function table(names, rows) {
  const banded = rows.some(({ low }) => low != null);
  const head = ["Answers", ...names, ...(banded ? ["At least", "At most"] : [])];
  const cells = (r) => [number(r.answers), ...r.values.map((v) => number(v, 3)), ...(banded ? [number(r.low, 3), number(r.high, 3)] : [])];
  return wide("Table", el("table", {},
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row).map((cell) => el("td", {}, cell)))))));
}

function spread(bottom, top) {
  return top > bottom ? [bottom, top] : [bottom - 0.5, top + 0.5];
}

function upright(bottom, top) {
  const rough = (top - bottom) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((times) => unit * times >= rough);
  const found = [];
  for (let k = Math.ceil(bottom / step); k * step <= top + 1e-9; k++) found.push(k * step);
  return found;
}

function decades(first, last) {
  const found = [];
  for (let value = 10 ** Math.ceil(Math.log10(first)); value <= last; value *= 10) found.push(value);
  if (last / (found.at(-1) ?? first) > 2) found.push(last);
  return found.length ? found : [first, last];
}
