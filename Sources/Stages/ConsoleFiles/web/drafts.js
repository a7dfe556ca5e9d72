// Forms that are not sent yet. They survive another page, a new log-in and a reload, in the storage of this tab.

import { session } from "./session.js";
import { serverNow } from "./clock.js";

const name = () => `drafts ${session.app}`;

/** All drafts of the session's app: an object of `{at, title, form, basis, pending}` by the address of the form. */
export function drafts() {
  try { return JSON.parse(sessionStorage.getItem(name())) ?? {}; } catch { return {}; }
}

function store(all) {
  try { sessionStorage.setItem(name(), JSON.stringify(all)); } catch { /* The browser stores nothing. */ }
}

export const draftOf = (address) => drafts()[address];

/** Adds fields to the draft of an address. */
export function saveDraft(address, fields) {
  const all = drafts();
  all[address] = { ...all[address], at: serverNow(), ...fields };
  store(all);
}

export function discardDraft(address) {
  const all = drafts();
  delete all[address];
  store(all);
}

const keyOf = (control) => (control.type === "radio" ? `choice ${control.name}` : control.dataset.path ?? control.name);

/** The raw values of a form's fields, also values that cannot be sent. */
export function rawValues(form) {
  const values = {};
  for (const control of form.querySelectorAll("input, select, textarea")) {
    const key = keyOf(control);
    if (!key) continue;
    if (control.type === "radio") {
      if (control.checked) values[key] = control.value;
    } else values[key] = control.type === "checkbox" ? control.checked : control.value;
  }
  return values;
}

/** Puts raw values into the fields that exist. Chooses among radio buttons as a reader does. */
export function putRawValues(form, values, isRadio) {
  for (const control of [...form.querySelectorAll("input, select, textarea")]) {
    const value = values[keyOf(control)];
    if (value === undefined || (control.type === "radio") !== isRadio) continue;
    if (isRadio) { if (control.value === value && !control.checked) control.click(); }
    else if (control.type === "checkbox") control.checked = value;
    else control.value = value;
  }
}
