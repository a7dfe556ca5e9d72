// The column beside the form of a send: the preview, the size and the result of the trial.

import { h } from "./h.js";
import { show } from "./patch.js";
import { card } from "./parts.js";
import { bar } from "./charts.js";
import { bytes, count } from "./format.js";
import { attributesOf } from "./groupattributes.js";
import { preview } from "./preview.js";
import { payloadBytes, payloadBytesMax } from "./payload.js";
import { trialResult } from "./trialresult.js";

function sizeBar(size, isExact) {
  if (size === undefined) return h("p.note", "–");
  const isTooLarge = size > payloadBytesMax;
  return bar("Bytes", [{ name: "bytes", value: Math.min(size, payloadBytesMax), series: isTooLarge ? 2 : 0 }], payloadBytesMax,
    [h("span", h("b", isExact ? bytes(size) : `about ${bytes(size)}`), ` of ${count(payloadBytesMax)}`), isTooLarge && h("b", "too large")]);
}

/**
 * The attributes to show: those of a start, or those of the group of an update.
 *
 * @param found called when the attributes of the group are read.
 */
export function shownAttributes(form, found) {
  if (form.event === "start") return form.attributes;
  const { basis } = form;
  return basis?.isKnown ? attributesOf({ groupId: basis.id, startedAt: basis.startedAt }, found) : undefined;
}

/** @param at `{form, body, trial, attributes}`. `body` is undefined if the form has a value that cannot be sent. */
export function composeAside(place, { form, body, trial, attributes }) {
  const exact = trial?.accepted?.bytes;
  show(place,
    trial && card("Trial", null, h("div.in.trial", trialResult(trial))),
    card("On the phone", "a preview", h("div.in", body
      ? preview({ layout: form.layout, event: body.event, alert: body.alert, state: body.contentState ?? form.basis?.state, attributes, title: body.attributesType, staleDate: body.staleDate })
      : h("p.note", "The form has a value that cannot be sent."))),
    card("Size", null, h("div.in", sizeBar(exact ?? (body && payloadBytes(body)), exact !== undefined))));
}
