// The lock screen of a phone as it should look now: the newest state of each running activity, and why the phone shows
// it or not.

import { h } from "./h.js";
import { card, dated } from "./parts.js";
import { to } from "./router.js";
import { preview } from "./preview.js";
import { attributesOf } from "./groupattributes.js";
import { hasSharedGroups, layoutFor } from "./typelayouts.js";
import { plain, whyKinds } from "./words.js";

const screensMax = 8;

function screen({ activityId, attributesType, groupId, newest, version, why }) {
  const isBehind = version !== newest.version;
  const kind = whyKinds[why?.code] ?? "";
  const attributes = hasSharedGroups(attributesType) ? attributesOf({ groupId }) : undefined;
  return h("figure.screen", { "data-key": activityId },
    preview({ layout: layoutFor(attributesType, newest.contentState), event: newest.event, state: newest.contentState, attributes, title: attributesType ?? "" }),
    h("figcaption",
      h("strong", groupId ? h("a", { href: to("groups", groupId) }, groupId) : activityId),
      h("p", isBehind ? "It should look like this; the phone may show an older state." : "APNs accepted this state for it."),
      why && h(kind ? `p.reason.${kind}` : "p.reason", dated(why.sentence), h("small", plain(why.code)))));
}

/** The lock screens of the running activities of a phone. Null if none has a state. */
export function lockScreens(phone) {
  const running = (phone.activities ?? []).filter(({ state, newest }) => newest?.contentState !== undefined && !["ended", "dismissed", "expired"].includes(state));
  if (!running.length) return null;
  return card("The lock screen as it should look now", running.length > screensMax ? `${screensMax} of ${running.length} activities` : null,
    h("div.in.screens", running.slice(0, screensMax).map(screen)));
}
