// Cuts CSV files into parts that the server accepts.

const ROWS = 5000; // in one part
const SIZE = 4_000_000; // characters

/** @typedef {{ text: string, count: number }} Part a header and some rows, and how many */

/**
 * What separates the values of a record, as the server sees it: the most frequent in the first line, outside quotes.
 * @param {string} text
 */
function delimiter(text) {
  const bare = text.slice(0, 100_000).split(/[\r\n]/, 1)[0].replace(/"[^"]*"/g, "");
  const count = (/** @type {string} */ one) => bare.split(one).length;
  const parting = [",", ";", "\t"].reduce((best, one) => (count(one) > count(best) ? one : best));
  return { parting, alone: count(parting) === 1 };
}

/**
 * The header and the records, not split at line ends inside quotes. Quotes are only special at the start of a value.
 * @param {string} text
 */
function records(text) {
  const found = [];
  const { parting, alone } = delimiter(text);
  let begin = 0;
  let quoted = false;
  let starts = true;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' && (quoted || starts)) {
      if (quoted && text[i + 1] === '"') i++;
      else quoted = !quoted;
    } else if (c === "\n" && !quoted) {
      found.push(text.slice(begin, i + 1));
      begin = i + 1;
    }
    starts = !quoted && (c === parting || c === "\n");
  }
  if (begin < text.length) found.push(text.slice(begin));
  const [header = "", ...rows] = found;
  if (!alone) return { header, rows: rows.filter((row) => row.trim() !== "") };
  while (rows.at(-1)?.trim() === "") rows.pop();
  // a missing value, in quotes as it may be the last of a part
  return { header, rows: rows.map((row) => (row.trim() === "" ? '""\n' : row)) };
}

/**
 * @param {string} text
 * @returns {Part[]} at least one
 */
export function parts(text) {
  const { header, rows } = records(text.replace(/^[\r\n]+/, ""));
  const start = header.endsWith("\n") ? header : `${header}\n`;
  const found = [];
  let count = 0;
  let part = start;
  for (const row of rows) {
    if (count === ROWS || (count && part.length + row.length > SIZE)) {
      found.push({ text: part, count });
      [part, count] = [start, 0];
    }
    part += row;
    count += 1;
  }
  if (count || !found.length) found.push({ text: part, count });
  return found;
}
