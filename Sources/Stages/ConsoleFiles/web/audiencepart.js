// The audience in the form of a send: everyone, segments and tags, or named people. People can be left out of the first two.

import { h } from "./h.js";
import { choice } from "./parts.js";
import { FieldError } from "./dates.js";
import { textField } from "./formparts.js";

const namesOf = (text) => text.split(/[\n,]/).map((name) => name.trim()).filter(Boolean);

/** The lists that are not empty. Undefined if there is none, because an empty list is no condition. */
function filled(lists) {
  const given = Object.entries(lists).filter(([, names]) => names.length > 0);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** Segments to choose and tags to name. */
class Conditions {
  element; #boxes; #tags;

  /** @param labels `{segments, tags}`. */
  constructor(segments, path, labels) {
    this.#boxes = segments.map((name) => h("input", { type: "checkbox", value: name, name: `${path} segment ${name}` }));
    this.#tags = textField(labels.tags, `${path}.tags`, { placeholder: "home-fan, away-fan", autocapitalize: "none", hint: "Separated by commas." });
    this.element = h("div.stack",
      h("fieldset.field", { "data-path": `${path}.segments` }, h("legend.label", labels.segments),
        this.#boxes.length ? h("div.checks", this.#boxes.map((box) => h("label.check", box, box.value)))
          : h("p.hint", "The app has no segments. The page Segments creates one.")),
      this.#tags.element);
  }

  /** `{segments, tags}`, or undefined without any condition. */
  read() {
    return filled({ segments: this.#boxes.filter(({ checked }) => checked).map(({ value }) => value), tags: namesOf(this.#tags.input.value) });
  }
}

const kinds = {
  start: [["everyone", "Everyone"], ["conditions", "Segments, tags"], ["users", "Users"]],
  other: [["group", "The group"], ["users", "Users"], ["activities", "Activities"]],
};
const hints = { group: "All phones with an activity of the group.", everyone: "All phones of the app with a start token." };

export class AudiencePart {
  element = h("div.stack");
  #segments; #kind; #changed; #names = null; #among = null; #without = null; #left = null;

  constructor(segments, changed) {
    this.#segments = segments;
    this.#changed = changed;
  }

  draw(event) {
    const offered = kinds[event] ?? kinds.other;
    this.#kind = offered[0][0];
    const inner = h("div.stack");
    this.element.replaceChildren(choice("Audience", "audience", offered, this.#kind, (kind) => {
      this.#kind = kind;
      this.#drawKind(inner);
      this.#changed();
    }), inner);
    this.#drawKind(inner);
  }

  #drawKind(place) {
    const kind = this.#kind;
    const label = { users: "User ids", activities: "Activity ids" }[kind];
    this.#names = label ? textField(label, `audience.${kind}`, { rows: 3, hint: "One per line or separated by commas; at most 10,000." }) : null;
    this.#among = kind === "conditions" ? new Conditions(this.#segments, "audience", { segments: "In one of these segments", tags: "With one of these tags" }) : null;
    this.#without = ["everyone", "conditions"].includes(kind)
      ? new Conditions(this.#segments, "audience.exclude", { segments: "Not in these segments", tags: "Without these tags" }) : null;
    this.#left = this.#without && h("details", h("summary", "Leave people out"), this.#without.element);
    place.replaceChildren(...[hints[kind] && h("p.note", hints[kind]), this.#names?.element, this.#among?.element,
      this.#among && h("p.note", "With segments and tags, people must be in one of the segments and have one of the tags."), this.#left].filter(Boolean));
  }

  /** Shows the exclusions of a form that was filled in from a draft. */
  reveal() { if (this.#left) this.#left.open = this.#without.read() !== undefined; }

  /** The audience of the body. Throws a `FieldError` if no condition is given, because that would be everyone. */
  read() {
    if (this.#names) return { [this.#kind]: namesOf(this.#names.input.value) };
    if (this.#kind === "group") return "group";
    const exclude = this.#without.read();
    if (this.#kind === "everyone") return exclude ? { everyone: true, exclude } : "everyone";
    const among = this.#among.read();
    if (!among) throw new FieldError("audience.segments", "needs a segment or a tag; choose Everyone for all phones");
    return { ...among, exclude };
  }
}
