// The parts of the form of a send: the time and the rare fields. A part draws its fields for an event and adds their values
// to the body. `audiencepart.js` has the audience.

import { h } from "./h.js";
import { choice, field, select } from "./parts.js";
import { dateSeconds, delaySeconds, fieldNumber, futureSeconds } from "./dates.js";

/** A field with one line of text, or with several. */
export function textField(label, path, { rows, hint, ...attributes } = {}) {
  const input = rows
    ? h("textarea", { rows, spellcheck: "false", ...attributes })
    : h("input", { type: "text", spellcheck: "false", ...attributes });
  return { input, element: field(label, input, { path, hint }) };
}

/** The time of a send. A half-filled time is refused, because it would otherwise mean "now". */
export class TimePart {
  element = h("div.stack");
  #kind = "now"; #input = null; #changed;

  constructor(changed) {
    this.#changed = changed;
    const inner = h("div");
    this.element.append(choice("When", "when", [["now", "Now"], ["offset", "After a delay"], ["at", "At a time"]], this.#kind, (kind) => {
      this.#kind = kind;
      this.#draw(inner);
      this.#changed();
    }), inner);
  }

  #draw(place) {
    const made = {
      now: null,
      offset: () => textField("Seconds from now", "when.offset", { inputmode: "numeric", placeholder: "600" }),
      at: () => textField("At", "when", { type: "datetime-local", step: 1, hint: "A day and a time, in your own time zone." }),
    }[this.#kind]?.();
    this.#input = made?.input ?? null;
    place.replaceChildren(...(made ? [made.element] : []));
  }

  /** The field `when` of the body. Undefined means now. */
  read() {
    if (this.#kind === "offset") return { offset: delaySeconds(this.#input, "when.offset") };
    return this.#kind === "at" ? futureSeconds(this.#input, "when") : undefined;
  }
}

/** The rare fields of a send: dates, priority and choices. */
export class RarePart {
  element = h("div.stack");
  #event; #inputs = {};

  draw(event) {
    this.#event = event;
    this.#inputs = {};
    const isStart = event === "start";
    this.element.replaceChildren(h("div.stack",
      h("div.pair",
        this.#select("priority", "Priority", [["", "10, at once"], ["5", "5, when it suits the phone"]]),
        event !== "end" && this.#date("staleDate", "Outdated from"),
        event === "end" && this.#date("dismissalDate", "Leaves the lock screen"),
        isStart && this.#date("endDate", "Ends at"),
        this.#date("deadline", "Deadline"),
        this.#date("expiration", "APNs keeps it until"),
        this.#text("relevanceScore", "Relevance score", { inputmode: "decimal" }),
        this.#text("collapseId", "Collapse id")),
      isStart && this.#select("onUnknownStart", "If the outcome of a start is unknown", [["", "Do not start again"], ["resend", "Start again"]]),
      h("div.checks",
        isStart && this.#check("restart", "Restart: also phones that started or dismissed it before"),
        isStart && this.#check("inputPushToken", "Ask iOS 18 for an update token"),
        event === "update" && this.#check("conflate", "A newer update may replace it while it waits", true))));
  }

  #text(name, label, attributes) {
    const made = textField(label, name, attributes);
    this.#inputs[name] = made.input;
    return made.element;
  }

  #date(name, label) { return this.#text(name, label, { type: "datetime-local", step: 1 }); }

  #select(name, label, options) {
    this.#inputs[name] = select(options, "");
    return field(label, this.#inputs[name], { path: name });
  }

  #check(name, label, isChecked = false) {
    this.#inputs[name] = h("input", { type: "checkbox", name, checked: isChecked });
    return h("label.check", this.#inputs[name], label);
  }

  /** The rare fields of the body that are filled in. */
  read() {
    const inputs = this.#inputs;
    const priority = fieldNumber(inputs.priority, "priority");
    const body = {
      priority, relevanceScore: fieldNumber(inputs.relevanceScore, "relevanceScore"),
      collapseId: inputs.collapseId.value.trim() || undefined,
      restart: inputs.restart?.checked || undefined,
      inputPushToken: inputs.inputPushToken?.checked || undefined,
      conflate: inputs.conflate && !inputs.conflate.checked ? false : undefined,
      onUnknownStart: inputs.onUnknownStart?.value || undefined,
    };
    for (const name of ["staleDate", "dismissalDate", "endDate", "deadline", "expiration"]) {
      if (inputs[name]) body[name] = dateSeconds(inputs[name], name);
    }
    return body;
  }
}
