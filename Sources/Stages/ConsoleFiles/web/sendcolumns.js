// The columns of lists of sends: what was sent, to whom, by whom, and what happened.

import { h } from "./h.js";
import { moment } from "./parts.js";
import { bar } from "./charts.js";
import { storedAudience } from "./audiencewords.js";
import { count } from "./format.js";
import { toAsking } from "./router.js";
import { layoutOf, schemaOfState, stateWords } from "./layout.js";
import { reportParts, targets, verdictTag } from "./report.js";

/** An id of a request is long, and its beginning tells requests apart. The page of the send has the whole id. */
const shortID = (id) => (id.length > 12 ? `${id.slice(0, 12)}…` : id);

/** The content of a stored send in one line. */
export function storedContent({ contentState }) {
  return contentState === undefined ? undefined : stateWords(layoutOf(schemaOfState(contentState)), contentState);
}

export const sendColumns = (isGroupShown = true) => [
  isGroupShown && { title: "Group", kind: "name", cell: (send) => send.groupId
    ? h("a", { href: toAsking({ user: send.userId }, "groups", send.groupId) }, send.groupId) : "–" },
  { title: "At", kind: "time", cell: (send) => moment(send.acceptedAt) },
  { title: "Send", kind: "name", cell: (send) => [
    h("a", { href: toAsking({ at: send.acceptedAt }, "sends", send.sendId) }, send.event ?? "send"),
    storedContent(send) && [" ", storedContent(send)],
    storedAudience(send) && h("div.note", "to ", storedAudience(send))] },
  { title: "Result", cell: (send) => [verdictTag(send), send.report && send.report.pushed + (send.report.superseded ?? 0) > 0
    && bar("Outcomes of the pushes", reportParts(send.report), Math.max(send.expanded ?? 0, send.report.pushed))] },
  { title: "Targeted", kind: "number", cell: (send) => count(targets(send).all) },
  { title: "Accepted", kind: "number", cell: (send) => count(send.report?.accepted) },
  { title: "Rejected", kind: "number", cell: (send) => count(send.report?.rejected) },
  { title: "Author and request", kind: "name", cell: (send) => [send.author ? h("code", send.author) : "–", send.requestId && h("div.note", { title: `Request ${send.requestId}` }, shortID(send.requestId))] },
].filter(Boolean);
