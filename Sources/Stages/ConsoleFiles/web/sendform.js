// The form of a send. It reads the body of `POST /v1/sends`, and fills itself in from the newest state of a group.

import { h } from "./h.js";
import { get, segment } from "./api.js";
import { card, choice } from "./parts.js";
import { AudiencePart } from "./audiencepart.js";
import { RarePart, textField, TimePart } from "./formparts.js";
import { valueForm } from "./form.js";
import { layoutOf, schemaOfState } from "./layout.js";
import { groupState } from "./groupstate.js";
import { putRawValues, rawValues } from "./drafts.js";

export const events = [["start", "Start"], ["update", "Update"], ["end", "End"]];

export class SendForm {
  element = h("form.stack", { novalidate: true, onsubmit: (event) => event.preventDefault(), oninput: () => this.#changed() });
  event;
  /** The activity type with its schemas. Null if it is unknown. */
  type = null;
  /** The group's newest state as the form knows it. See `groupstate.js`. */
  basis = null;
  #audience; #time; #rare; #group; #typeName; #alert; #groups;
  #state; #attributes; #on; #isRestoring = false;
  #places = { state: h("div"), attributes: h("div"), alert: h("div") };
  /** The state that the form has filled in by itself. A reader's own state is never overwritten. */
  #filled = null;
  /** The user of a private group. */
  #userId = undefined;

  /**
   * @param known `{types, segments, groups}`: names of types and segments, and the live groups.
   * @param on `{changed, groupChosen}`. `changed` gets `isByReader`.
   */
  constructor(event, known, on) {
    this.event = event;
    this.#on = on;
    this.#groups = known.groups;
    this.#audience = new AudiencePart(known.segments, () => this.#changed());
    this.#time = new TimePart(() => this.#changed());
    this.#rare = new RarePart();
    this.#group = textField("Group", "groupId", { list: "groups", autocomplete: "off", placeholder: "match-42", hint: "The same activity on many phones." });
    this.#typeName = textField("Activity type", "attributesType", { list: "types", autocomplete: "off", placeholder: "MatchAttributes" });
    this.#group.input.addEventListener("change", () => this.#groupChosen());
    this.#typeName.input.addEventListener("change", () => this.chooseType(this.typeName));
    this.element.append(
      card("What", null, h("div.in",
        choice("Event", "event", events, event, (value) => { this.event = value; this.#drawEvent(); this.#changed(); this.#groupChosen(); }),
        h("div.pair", this.#group.element, this.#typeName.element),
        h("datalist", { id: "types" }, known.types.map((name) => h("option", { value: name }))),
        h("datalist", { id: "groups" }, known.groups.map(({ groupId, attributesType }) => h("option", { value: groupId }, attributesType))))),
      card("Audience", null, h("div.in", this.#audience.element)),
      card("Content", null, h("div.in", this.#places.attributes, this.#places.state, this.#places.alert)),
      card("When", null, h("div.in", this.#time.element)),
      h("details", h("summary", "More: dates, priority and rare cases"), h("section.card", h("div.in", this.#rare.element))));
    this.#drawEvent();
    this.#drawContent();
  }

  #changed() { if (!this.#isRestoring) this.#on.changed({ isByReader: true }); }
  #groupChosen() { if (!this.#isRestoring) this.#on.groupChosen(this.groupId); }

  get groupId() { return this.#group.input.value.trim(); }
  set groupId(name) { this.#group.input.value = name; }
  get typeName() { return this.#typeName.input.value.trim(); }
  /** Chooses the private group of a user, if an update or an end is for one. */
  chooseUser(userId) {
    if (!userId || this.event === "start") return;
    this.#userId = userId;
    putRawValues(this.element, { "choice audience": "users" }, true);
    putRawValues(this.element, { "audience.users": userId }, false);
  }

  /** The names of the live groups. */
  get groupNames() { return this.#groups.map(({ groupId }) => groupId); }

  #drawEvent() {
    const isStart = this.event === "start";
    this.#audience.draw(this.event);
    this.#rare.draw(this.event);
    this.#places.attributes.hidden = !isStart;
    const before = this.#alert ? Object.fromEntries(Object.entries(this.#alert).map(([name, { input }]) => [name, input.value])) : {};
    const hint = isStart ? "A start must have a title or a body." : "Optional. Without an alert the activity changes silently.";
    this.#alert = {
      title: textField("Alert title", "alert.title", { hint }), body: textField("Alert body", "alert.body"),
      sound: textField("Sound", "alert.sound", { placeholder: "default" }),
    };
    for (const [name, value] of Object.entries(before)) this.#alert[name].input.value = value;
    const { title, body, sound } = this.#alert;
    this.#places.alert.replaceChildren(h("div.stack", h("div.pair", title.element, body.element), sound.element));
  }

  /** Chooses an activity type, and draws the fields of its schema. Keeps the values that are already there. */
  async chooseType(name, signal) {
    this.#typeName.input.value = name;
    this.type = null;
    let type = null;
    if (name) {
      try { type = await get(`/v1/activity-types/${segment(name)}`, signal); } catch (error) {
        if (error.status !== 404) throw error;
      }
    }
    // The reader has chosen another type while this one was read.
    if (name.trim() !== this.typeName) return;
    this.type = type;
    this.#drawContent();
    this.#on.changed({ isByReader: false });
  }

  /** The schema of the state: the type's own, or one that the group's newest state suggests. */
  get schema() { return this.type?.contentStateSchema ?? schemaOfState(this.basis?.state); }
  get layout() { return layoutOf(this.schema ?? schemaOfState(this.state), this.type?.layout); }

  #drawContent() {
    const [state, attributes] = [this.state, this.attributes];
    const raw = { ...rawValues(this.#places.state), ...rawValues(this.#places.attributes) };
    const hint = this.type && !this.type.contentStateSchema
      ? "The type has no schema. A phone silently drops content that it cannot decode." : "As JSON.";
    const required = this.type?.requiredAttributes;
    const attributesSchema = this.type?.attributesSchema
      ?? (required?.length ? Object.fromEntries(required.map((name) => [name, "string"])) : undefined);
    this.#state = valueForm("Content state", "contentState", this.schema, hint);
    this.#attributes = valueForm("Attributes", "attributes", attributesSchema, "As JSON. The gateway adds the group.");
    if (state && Object.keys(state).length) this.#state.write(state);
    if (attributes && Object.keys(attributes).length) this.#attributes.write(attributes);
    this.#places.state.replaceChildren(this.#state.element);
    this.#places.attributes.replaceChildren(this.#attributes.element);
    // A text that is half typed is no value yet, and must not get lost either.
    for (const place of [this.#places.state, this.#places.attributes]) putRawValues(place, raw, false);
  }

  /** Reads the form's group, and fills in its type and its newest state. */
  async readGroup(signal) {
    // The reader may choose another group during each wait. The state of the first one must not get into its form.
    const isChosen = ({ id }) => id === this.groupId;
    const group = await groupState(this.groupId, { signal, userId: this.#userId });
    if (isChosen(group) && group.type && group.type !== this.typeName) await this.chooseType(group.type, signal);
    if (!isChosen(group)) return null;
    this.takeGroup(group);
    return group;
  }

  /** Takes a group's newest state as the basis of the form. A state that the reader has changed stays. */
  takeGroup(group, { isForced = false } = {}) {
    const own = JSON.stringify(this.state ?? {});
    const isUntouched = own === "{}" || own === JSON.stringify(this.#filled ?? {});
    this.basis = group;
    if (!group.isKnown || group.state === undefined) return;
    if (!this.type?.contentStateSchema) this.#drawContent();
    if (!isForced && !isUntouched) return;
    this.#state.write(group.state);
    this.#filled = this.state;
  }

  #read(part) { try { return part?.read(); } catch { return undefined; } }
  get state() { return this.#read(this.#state); }
  get attributes() { return this.#read(this.#attributes); }

  /** The body of `POST /v1/sends`. Throws a `FieldError` for a value that cannot be sent. */
  body() {
    const isStart = this.event === "start";
    const alert = Object.fromEntries(Object.entries(this.#alert).map(([name, { input }]) => [name, input.value.trim() || undefined]));
    const body = {
      event: this.event, groupId: this.groupId || undefined, attributesType: this.typeName || undefined,
      audience: this.#audience.read(), contentState: this.#content(),
      attributes: isStart ? this.#attributes.read() ?? {} : undefined,
      alert: alert.title || alert.body || alert.sound ? alert : undefined,
      ...this.#rare.read(), when: this.#time.read(),
    };
    return body;
  }

  /** The content state. An end may have none: the phone then keeps the newest state. */
  #content() {
    const state = this.#state.read();
    return this.event === "end" && state && !Object.keys(state).length ? undefined : state;
  }

  /** The form as it is, for a draft. */
  snapshot() {
    return { event: this.event, type: this.typeName, state: this.state, attributes: this.attributes, filled: this.#filled, raw: rawValues(this.element) };
  }

  /** Fills the form in from a draft. */
  async restore({ event, type, state, attributes, filled, raw }, basis, signal) {
    this.basis = basis ?? null;
    this.#userId = basis?.userId;
    this.event = event;
    this.#drawEvent();
    await this.chooseType(type, signal);
    // The form puts the values in here, and not the reader.
    this.#isRestoring = true;
    putRawValues(this.element, raw, true);
    this.#isRestoring = false;
    if (state) this.#state.write(state);
    if (attributes) this.#attributes.write(attributes);
    putRawValues(this.element, raw, false);
    this.#audience.reveal();
    this.#filled = filled;
  }
}
