// Where the answers are: the one line that must always be true, and the list of those that were not accepted.

import { byId, el, fill } from "./dom.js";

// What the server's final refusals mean to a person.
const WHY = {
  "answered-otherwise": "The question had already been answered the other way, and the first answer stands.",
  retracted: "The answer to this question had already been taken back.",
  skipped: "The question had already been skipped.",
  answered: "The question had already been answered, so it cannot be skipped.",
  "not-answered": "There was no answer to take back.",
  "no-question": "The server does not know this question.",
  "not-yours": "The question belongs to another person.",
  damaged: "This entry of the browser's storage is damaged and cannot be sent.",
};
const some = (count, one, many) => (count === 1 ? `1 answer ${one}` : `${count} answers ${many}`);

export function show(outboxes, project) {
  const refused = outboxes.flatMap((outbox) => outbox.refused().map((act) => ({ ...act, outbox })));
  const { text, warning } = line(outboxes, project, refused.length);
  const box = byId("network");
  box.classList.toggle("warning", warning);
  if (box.textContent !== text) box.textContent = text;
  list(refused, project);
}

function line(outboxes, project, refused) {
  const count = outboxes.reduce((sum, outbox) => sum + outbox.questions().size, 0);
  const trouble = outboxes.find((outbox) => outbox.trouble && outbox.questions().size)?.trouble;
  if (trouble?.status === 0) return { text: `No connection: ${some(count, "is", "are")} kept in this browser and will be sent`, warning: true };
  if (trouble) return { text: `${some(count, "waits", "wait")} in this browser and will be sent again: ${trouble.words}`, warning: true };
  if (count) return { text: count > 2 ? `Sending ${count} answers…` : "Saving…", warning: false };
  if (project?.trouble) return { text: project.trouble.status === 0 ? "No connection" : project.trouble.words, warning: true };
  if (refused) return { text: `${some(refused, "was", "were")} not accepted`, warning: true };
  return { text: project ? "Everything is saved" : "", warning: false };
}

function list(refused, project) {
  const box = byId("refused");
  const seen = refused.map(({ entry }) => entry).join();
  if (box.dataset.seen === seen) return;
  box.dataset.seen = seen;
  box.hidden = !refused.length;
  const row = ({ outbox, entry, about, question, ...act }) => {
    const what = about ?? `Question ${question ?? "unknown"}`;
    const where = outbox.project === project?.name ? "" : ` (project ${outbox.project})`;
    return el("li", {}, el("p", {}, el("b", { dir: "auto" }, what), where, el("br"), did(act), el("br"), WHY[act.code] ?? act.code),
      el("button", { type: "button", onclick: () => outbox.dismiss(entry), "aria-label": `Dismiss: ${what}` }, "Dismiss"));
  };
  fill(box, el("p", {}, "Not accepted by the server:"), el("ul", {}, refused.map(row)));
}

function did({ act, higher, level }) {
  if (act === "answer") return `Your answer: ${higher ? "above" : "not above"} ${level ?? "the level asked"}`;
  return { skip: "You skipped it", retract: "You took your answer back" }[act] ?? "What you did cannot be read";
}
