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
 * The header and the records, as the server sees them: a line ends with \n, \r or both, except inside quotes, and only
 * a line without any character is empty. Quotes are only special at the start of a value.
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
    } else if ((c === "\n" || c === "\r") && !quoted) {
      if (c === "\r" && text[i + 1] === "\n") i++;
      found.push(text.slice(begin, i + 1));
      begin = i + 1;
    }
    starts = !quoted && (c === parting || begin === i + 1);
  }
  if (begin < text.length) found.push(text.slice(begin));
  const [header = "", ...rows] = found;
  const isEmpty = (/** @type {string | undefined} */ row) => row !== undefined && /^[\r\n]+$/.test(row);
  if (!alone) return { header, rows: rows.filter((row) => !isEmpty(row)) };
  while (isEmpty(rows.at(-1))) rows.pop();
  // a missing value, in quotes as it may be the last of a part
  return { header, rows: rows.map((row) => (isEmpty(row) ? '""\n' : row)) };
}

/**
 * @param {string} text
 * @returns {Part[]} at least one
 */
export function parts(text) {
  const { header, rows } = records(text.replace(/^[\r\n]+/, ""));
  const start = /[\r\n]$/.test(header) ? header : `${header}\n`;
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
