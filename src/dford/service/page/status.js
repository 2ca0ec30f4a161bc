// Where the answers are: the one line that must always be true, and the list of those that were not accepted.

import { bdi, byId, el, fill, setText } from "./dom.js";
import { read } from "./storage.js";

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
  const others = outboxes.flatMap((outbox) =>
    [...outbox.ofOthers()].map(([person, entries]) => ({ outbox, person, entries })),
  );
  const { text, warning } = whereAnswersAre(outboxes, project, refused.length, others.length > 0);
  const box = byId("network");
  box.classList.toggle("warning", warning);
  setText(box, text);
  showRefused(refused, project);
  showOthers(others, project);
}

/**
 * @param {Outbox[]} outboxes
 * @param {Project | null} project
 * @param {number} refused
 * @param {boolean} hasOthers whether other people's answers wait
 */
function whereAnswersAre(outboxes, project, refused, hasOthers) {
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
  return { text: !project ? "" : hasOthers ? "Your answers are saved" : "Everything is saved", warning: false };
}

/** @type {(count: number, singular: string, plural: string) => string} */
const answers = (count, singular, plural) => (count === 1 ? `1 answer ${singular}` : `${count} answers ${plural}`);

/**
 * What other people answered in this browser, or somebody before there were keys, and could not send before somebody
 * else signed in.
 * @param {{ outbox: Outbox, person: string, entries: string[] }[]} others
 * @param {Project | null} project
 */
function showOthers(others, project) {
  const box = byId("others");
  const seen = [project?.name, project?.person, project?.role, ...others.flatMap(({ entries }) => entries)].join();
  if (box.dataset.seen === seen) return;
  box.dataset.seen = seen;
  box.hidden = !others.length;
  fill(box, others.map(({ outbox, person, entries }) => {
    const discard = () => {
      if (confirm(`Discard what ${person || "somebody"} answered here and could not send? It will be lost.`)) entries.forEach((entry) => outbox.dismiss(entry));
    };
    const count = new Set(entries.map((entry) => read(entry)?.question)).size;
    const [by, are, them] = [person ? "by " : "from before there were keys", ...(count === 1 ? ["is", "it"] : ["are", "them"])];
    const canTake = outbox.project === project?.name && project.role === "admin"; // as questions of somebody else
    return el("p", {}, answers(count, by, by), bdi(person), whereOf(outbox, project), ` ${are} waiting in this browser; `,
      person ? ["open ", bdi(person), `'s link here to send ${them}. `]
        : canTake ? `send ${them} if you gave ${them}. ` : `an admin who opens the project here can send ${them}. `,
      person || !canTake ? null : [el("button", { type: "button", onclick: () => outbox.take(entries) }, "Send as mine"), " "],
      el("button", { type: "button", onclick: discard }, "Discard"));
  }));
}

/** @type {(outbox: Outbox, project: Project | null) => string} */
const whereOf = (outbox, project) => (outbox.project === project?.name ? "" : ` (project ${outbox.project})`);

/**
 * @param {Refused[]} refused
 * @param {Project | null} project
 */
function showRefused(refused, project) {
  const box = byId("refused");
  const seen = [project?.name, ...refused.map(({ entry }) => entry)].join();
  if (box.dataset.seen === seen) return;
  box.dataset.seen = seen;
  box.hidden = !refused.length;
  const row = (/** @type {Refused} */ { outbox, entry, about, question, ...act }) => {
    const what = about ?? `Question ${question ?? "unknown"}`;
    const whose = act.person && !outbox.isOwn(act.person) ? ["by ", bdi(act.person), el("br")] : [];
    return el("li", {},
      el("p", {}, el("b", { dir: "auto" }, what), whereOf(outbox, project), el("br"), whose,
        done(act), el("br"), FINAL[act.code] ?? act.code),
      el("button", { type: "button", onclick: () => outbox.dismiss(entry), "aria-label": `Dismiss: ${what}` }, "Dismiss"));
  };
  fill(box, el("p", {}, "Not accepted by the server:"), el("ul", {}, refused.map(row)));
}

/** @param {Partial<import("./outbox.js").Act>} act */
function done({ act, higher, rating, level }) {
  if (act === "answer" && rating !== undefined) return `Your rating: ${rating}`;
  if (act === "answer") return `Your answer: ${higher ? "above" : "not above"} ${level ?? "the level asked about"}`;
  return DONE[act ?? ""] ?? "This entry cannot be read";
}
