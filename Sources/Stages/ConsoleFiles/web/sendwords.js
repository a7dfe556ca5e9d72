// The sentence of a send, and the doubts that a reader must confirm.

import { audienceWords } from "./audiencewords.js";
import { counted, span, time } from "./format.js";
import { changeWords } from "./difference.js";
import { stateWords } from "./layout.js";

/** The time of a send in words. */
export function timeWords(when) {
  if (when === undefined) return "now";
  return typeof when === "object" ? `in ${span(when.offset * 1000)}` : `at ${time(when * 1000)}`;
}

function whatChanges({ body, layout, newest }) {
  const before = newest?.isKnown ? newest.state : undefined;
  if (body.event === "start") return `Start with ${stateWords(layout, body.contentState)}`;
  if (body.event === "end") return body.contentState === undefined ? "End" : `End with ${changeWords(layout, before, body.contentState)}`;
  return changeWords(layout, before, body.contentState);
}

/** A send in one sentence: `1:0 → 2:0, cup-final, everyone with it: 944 phones, now`. */
export function sendSentence({ body, layout, newest, trial }) {
  const unknown = trial?.error ? "an unknown number of phones" : "counting the phones …";
  const phones = trial?.phones === undefined ? unknown : counted(trial.phones, "phone");
  return [whatChanges({ body, layout, newest }), body.groupId, audienceWords(body)].filter(Boolean).join(", ")
    + `: ${phones}, ${timeWords(body.when)}`;
}

/** The first reason to doubt a send, with the text of the box that the reader must tick. Null without a doubt. */
export function unsure({ body, newest, stateError, trial, isSlow }) {
  const group = body.groupId;
  if (group && body.event !== "start") {
    if (stateError && body.ifVersion === undefined) {
      return { text: `The newest state of ${group} is unknown, because insight does not answer. The send may put an older state over a newer one.`,
        box: "Send it without the comparison" };
    }
    if (newest && !newest.isKnown) {
      return { text: `The group ${group} is unknown: it has no start, and no phone has reported it. Check its name.`, box: `Send to the unknown group ${group}` };
    }
    if (newest?.isEnded) return { text: `The group ${group} has already ended.`, box: "Send it all the same" };
  }
  if (trial?.error || (isSlow && !trial?.isComplete)) {
    return { text: "The trial has not counted the phones. The number of phones that get this send is unknown.", box: "Send it without the number" };
  }
  if (trial?.phones === 0) return { text: "By the trial, this send reaches no phone.", box: "Send it all the same" };
  return null;
}
