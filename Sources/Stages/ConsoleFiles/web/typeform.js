// The form of an activity type. A schema can come from an example, and the preview shows the example in the layout.

import { h } from "./h.js";
import { call, segment } from "./api.js";
import { show } from "./patch.js";
import { card, coded, during, field, notice } from "./parts.js";
import { FieldError } from "./dates.js";
import { json } from "./controls.js";
import { layoutOf } from "./layout.js";
import { preview } from "./preview.js";
import { refusalNotice } from "./problems.js";
import { sampleValue, schemaOfExample } from "./schemaexample.js";
import { what } from "./away.js";

export class TypeForm {
  element; #name; #said = h("div"); #preview = h("div"); #form;
  #example = json("Example of the content state", "example", "Paste one state of the app. It is only used here.");
  #exampleAttributes = json("Example of the attributes", "exampleAttributes", "It is only used here.");
  #state = json("Schema of the content state", "contentStateSchema", "A phone silently drops content that does not fit. See the page about schemas in the book.");
  #attributes = json("Schema of the attributes", "attributesSchema", "Optional.");
  #layout = json("Layout", "layout", "How the console shows the type. Without it, the first two whole numbers are scores.");
  #lifetime = h("input", { spellcheck: "false", placeholder: "24h" });
  #required = h("input", { spellcheck: "false", placeholder: "home, away" });
  #group = h("input", { spellcheck: "false", placeholder: "netmeraGroupId" });
  #private = h("input", { type: "checkbox" });

  /** @param on `{saved, remove}`. `remove` is null for a new type. */
  constructor(name, type, { saved, remove }) {
    this.#name = name;
    this.#fill(type ?? {});
    const fromExample = h("button", { type: "button", onclick: () => this.#pressed(() => this.#takeExample()) }, "Make the schemas from the examples");
    this.#form = h("form.stack", { novalidate: true, oninput: () => this.#draw(), onsubmit: (event) => { event.preventDefault(); this.#pressed(() => this.#save(event.submitter, saved)); } },
      card("From an example", null, h("div.in", this.#example.element, this.#exampleAttributes.element, h("div", fromExample))),
      card("What phones can decode", null, h("div.in", this.#state.element, this.#attributes.element,
        h("div.pair", field("Required attributes", this.#required, { path: "requiredAttributes", hint: "Separated by commas." }), field("Attribute of the group", this.#group, { path: "groupAttribute" }),
          field("Token lifetime", this.#lifetime, { path: "updateTokenTtl", hint: "From 1m to 7d." })),
        h("label.check", this.#private, "Each group belongs to one user"))),
      card("How people see it", null, h("div.in", this.#layout.element)),
      this.#said,
      h("div.buttons", h("button.main", "Save"), remove && h("button.danger", { type: "button", onclick: () => this.#pressed(remove) }, "Delete")));
    this.element = h("div.compose", this.#form, h("div.side-by", card("Preview", null, h("div.in", this.#preview))));
    this.#draw();
  }

  #fill(type) {
    this.#state.write(type.contentStateSchema);
    this.#attributes.write(type.attributesSchema);
    this.#layout.write(type.layout);
    this.#lifetime.value = type.updateTokenTtl ?? "";
    this.#required.value = type.requiredAttributes?.join(", ") ?? "";
    this.#group.value = type.groupAttribute ?? "";
    this.#private.checked = type.private === true;
  }

  async #pressed(work) {
    show(this.#said);
    try { await work(); } catch (error) {
      show(this.#said, error instanceof FieldError || error.problems ? refusalNotice(this.#form, error) : notice("bad", coded(what(error))));
    }
  }

  #takeExample() {
    const example = this.#example.read();
    if (!example) throw new FieldError("example", "needs an example as JSON");
    this.#state.write(schemaOfExample(example));
    const attributes = this.#exampleAttributes.read();
    if (attributes) this.#attributes.write(schemaOfExample(attributes));
    this.#draw();
  }

  #read(part) { try { return part.read(); } catch { return undefined; } }

  #draw() {
    const example = this.#read(this.#example);
    const schema = this.#read(this.#state) ?? (example && schemaOfExample(example));
    const attributesSchema = this.#read(this.#attributes);
    const layout = layoutOf(schema, this.#read(this.#layout));
    show(this.#preview, schema === undefined ? h("p.note", "Paste an example to see it on a lock screen.")
      : preview({ layout, event: "update", state: example ?? sampleValue(schema, layout),
        attributes: this.#read(this.#exampleAttributes) ?? sampleValue(attributesSchema), title: this.#name }));
  }

  async #save(button, saved) {
    const names = this.#required.value.split(",").map((name) => name.trim()).filter(Boolean);
    await during(button, () => call("PUT", `/v1/activity-types/${segment(this.#name)}`, { body: {
      contentStateSchema: this.#state.read(), attributesSchema: this.#attributes.read(), layout: this.#layout.read(),
      updateTokenTtl: this.#lifetime.value.trim() || undefined, groupAttribute: this.#group.value.trim() || undefined,
      requiredAttributes: names.length ? names : undefined, private: this.#private.checked || undefined,
    } }));
    saved();
  }
}
