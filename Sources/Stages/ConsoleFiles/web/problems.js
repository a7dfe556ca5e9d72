// The problems of a form, at their fields and in a list above the form.

import { h } from "./h.js";
import { show } from "./patch.js";
import { Refusal } from "./api.js";
import { what } from "./away.js";
import { FieldError } from "./dates.js";
import { coded, notice } from "./parts.js";

/** The field of a path. For a path inside a field, the nearest enclosing field. */
function fieldOf(form, path) {
  for (let rest = path; rest; rest = rest.replace(/(\.[^.[\]]+|\[\d+\])$/, "") === rest ? "" : rest.replace(/(\.[^.[\]]+|\[\d+\])$/, "")) {
    const found = form.querySelector(`[data-path="${CSS.escape(rest)}"]`);
    if (found) return found;
  }
  return null;
}

/** Splits a schema's message, such as `at away is missing`, into the path within the field and the rest. */
function placed({ field: path, message }) {
  const inner = /^at (\S+) (.*)$/s.exec(message);
  return inner ? { path: `${path}.${inner[1]}`, message: inner[2] } : { path, message };
}

export function clearProblems(form) {
  for (const field of form.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    const own = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && !id.endsWith("-wrong"));
    if (own.length) field.setAttribute("aria-describedby", own.join(" "));
    else field.removeAttribute("aria-describedby");
  }
  for (const said of form.querySelectorAll(".wrong")) said.remove();
}

/** @param problems `{field, message}`. The field is a path in the body. */
export function showProblems(form, problems) {
  clearProblems(form);
  const items = problems.map(placed).map(({ path, message }) => {
    const field = path ? fieldOf(form, path) : null;
    const text = path ? `${path} ${message}` : message;
    if (!field) return h("li", text);
    const id = `${field.id || path}-wrong`;
    for (let around = field.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", [field.getAttribute("aria-describedby"), id].filter(Boolean).join(" "));
    (field.closest(".field") ?? field.parentElement).append(h("p.wrong", { id }, message));
    return h("li", h("a", { href: "#", onclick: (event) => { event.preventDefault(); field.focus(); } }, path), ` ${message}`);
  });
  const said = notice("bad", h("strong", items.length === 1 ? "There is one problem; nothing was sent." : `There are ${items.length} problems; nothing was sent.`),
    h("ul", items));
  form.querySelector("[aria-invalid]")?.focus();
  return said;
}

/** Shows why a form was refused: at its fields, and as a notice. The notice is returned. */
export function refusalNotice(form, error) {
  const problems = error instanceof FieldError ? [{ field: error.path, message: error.message }]
    : error instanceof Refusal && !error.isAway ? error.problems : [];
  return problems.length ? showProblems(form, problems) : notice("bad", coded(what(error)));
}

/** Shows why a form was refused in a place above it. Scrolls there, unless a field is marked and has the focus. */
export function showRefusal(place, form, error) {
  show(place, refusalNotice(form, error));
  if (!form.querySelector("[aria-invalid]")) place.scrollIntoView({ block: "nearest" });
}
