// The forms of this tab that are not sent yet, as links.

import { h } from "./h.js";
import { notice } from "./parts.js";
import { ago } from "./format.js";
import { drafts } from "./drafts.js";

const formsMax = 3;

/** A notice with the newest forms, without the one of the given address. Null if there are none. */
export function otherForms(address) {
  const others = Object.entries(drafts()).filter(([one, { title }]) => one !== address && title)
    .sort(([, a], [, b]) => b.at - a.at).slice(0, formsMax);
  if (!others.length) return null;
  return notice("", "Forms that are not sent: ", others.map(([one, { title, at }], index) =>
    h("span", index > 0 && " · ", h("a", { href: `#/compose${one && `?${one}`}` }, title), ` (${ago(at)})`)));
}
