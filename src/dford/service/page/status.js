// Where the answers are: the one line that must always be true, and the list of those that were not accepted.

import { byId, el, fill, setText } from "./dom.js";

/**
 * @typedef {import("./outbox.js").Outbox} Outbox
 * @typedef {import("./outbox.js").Refused & { entry: string, outbox: Outbox }} Refused
 * @typedef {import("./project.js").Project} Project
 */

/**
 * What the server's final refusals mean to a person.
 * @type {Record<string, string>}
 */
const FINAL = {
  "answered-otherwise": "The question had already been answered the other way, and the first answer stands.",
  retracted: "The answer to this question had already been taken back.",
  skipped: "The question had already been skipped.",
  answered: "The question had already been answered, so it cannot be skipped.",
  "not-answered": "There was no answer to take back.",
  "no-question": "The server does not know this question.",
  "not-yours": "The question belongs to another person.",
  damaged: "This entry in the browser's storage is damaged and cannot be sent.",
};

/** @type {Record<string, string>} */
const DONE = { skip: "You skipped it", retract: "You took your answer back" };

/**
 * @param {Outbox[]} outboxes
 * @param {Project | null} project the one that is open
 */
export function show(outboxes, project) {
  const refused = outboxes.flatMap((outbox) => outbox.refused().map((act) => ({ ...act, outbox })));
  const { text, warning } = whereAnswersAre(outboxes, project, refused.length);
  const box = byId("network");
  box.classList.toggle("warning", warning);
  setText(box, text);
  showRefused(refused, project);
}

/**
 * @param {Outbox[]} outboxes
 * @param {Project | null} project
 * @param {number} refused
 */
function whereAnswersAre(outboxes, project, refused) {
  const count = outboxes.reduce((sum, outbox) => sum + outbox.questions().size, 0);
  const problem = outboxes.find((outbox) => outbox.problem && outbox.questions().size)?.problem;
  if (problem?.status === 0)
    return { text: `No connection: ${answers(count, "is", "are")} kept in this browser and will be sent`, warning: true };
  if (problem)
    return { text: `${answers(count, "waits", "wait")} in this browser and will be sent again: ${problem.words}`, warning: true };
  if (count) return { text: count > 2 ? `Sending ${count} answers…` : "Saving…", warning: false };
  if (project?.problem)
    return { text: project.problem.status === 0 ? "No connection" : project.problem.words, warning: true };
  if (refused) return { text: `${answers(refused, "was", "were")} not accepted`, warning: true };
  return { text: project ? "Everything is saved" : "", warning: false };
}

/** @type {(count: number, singular: string, plural: string) => string} */
const answers = (count, singular, plural) => (count === 1 ? `1 answer ${singular}` : `${count} answers ${plural}`);

/**
 * @param {Refused[]} refused
 * @param {Project | null} project
 */
function showRefused(refused, project) {
  const box = byId("refused");
  const seen = refused.map(({ entry }) => entry).join();
  if (box.dataset.seen === seen) return;
  box.dataset.seen = seen;
  box.hidden = !refused.length;
  const row = (/** @type {Refused} */ { outbox, entry, about, question, ...act }) => {
    const what = about ?? `Question ${question ?? "unknown"}`;
    const where = outbox.project === project?.name ? "" : ` (project ${outbox.project})`;
    return el("li", {},
      el("p", {}, el("b", { dir: "auto" }, what), where, el("br"), done(act), el("br"), FINAL[act.code] ?? act.code),
      el("button", { type: "button", onclick: () => outbox.dismiss(entry), "aria-label": `Dismiss: ${what}` }, "Dismiss"));
  };
  fill(box, el("p", {}, "Not accepted by the server:"), el("ul", {}, refused.map(row)));
}

/** @param {Partial<import("./outbox.js").Act>} act */
function done({ act, higher, level }) {
  if (act === "answer") return `Your answer: ${higher ? "above" : "not above"} ${level ?? "the level asked about"}`;
  return DONE[act ?? ""] ?? "This entry cannot be read";
}
