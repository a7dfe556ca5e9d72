// The page that composes a send, tries it out and sends it.

import { h } from "./h.js";
import { get, post, Refusal, segment } from "./api.js";
import { session } from "./session.js";
import { show } from "./patch.js";
import { card, choice, coded, confirm, during, field, head, notice, select, table } from "./parts.js";
import { bar } from "./charts.js";
import { bytes, count, counted } from "./format.js";
import { toAsking } from "./router.js";
import { what } from "./away.js";
import { excluded } from "./words.js";
import { FieldError, valueForm } from "./form.js";
import { clearProblems, showProblems } from "./problems.js";
import { lockScreen } from "./lockscreen.js";
import { payloadBytes, payloadBytesMax } from "./payload.js";
import { DryRun } from "./dryrun.js";

const names = (text) => text.split(/[\n,]/).map((name) => name.trim()).filter(Boolean);
/** A new idempotency key. It makes a second press of Send the same send. */
const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const seconds = (input) => (input.value ? Math.floor(new Date(input.value).getTime() / 1000) : undefined);
const whole = (input, path) => {
  if (input.value === "") return undefined;
  const value = Number(input.value);
  if (Number.isNaN(value)) throw new FieldError(path, "must be a number");
  return value;
};

class Compose {
  #event; #types = []; #segments = [];
  #type = null;
  #stateForm; #attributesForm;
  #audience; #when = "now";
  #key = freshKey();
  #dry = null;
  #inputs = {};
  #place; #form; #said = h("div"); #aside = h("div.side-by"); #result = h("div");

  constructor(place, asked) {
    this.#place = place;
    this.#event = ["start", "update", "end"].includes(asked.get("event")) ? asked.get("event") : "start";
    this.asked = asked;
    this.signal = new AbortController();
  }

  async begin() {
    const [types, segments] = await Promise.all([
      get("/v1/activity-types", this.signal.signal), get("/v1/segments", this.signal.signal)]);
    this.#types = types.items.map(({ name }) => name);
    this.#segments = segments.items.map(({ name }) => name);
    this.#make();
    const wanted = this.asked.get("type");
    const first = wanted || this.#types[0] || "";
    this.#inputs.type.value = first;
    await this.#choose(first);
    await this.#prefill();
    this.#changed();
  }

  #text(name, path, label, options = {}) {
    const input = options.rows
      ? h("textarea", { rows: options.rows, placeholder: options.placeholder, spellcheck: "false" })
      : h("input", { type: options.type ?? "text", placeholder: options.placeholder, spellcheck: "false", step: options.step, list: options.list, inputmode: options.inputmode });
    this.#inputs[name] = input;
    return field(label, input, { path, hint: options.hint });
  }

  #check(name, label, isChecked = false) {
    const input = h("input", { type: "checkbox", checked: isChecked });
    this.#inputs[name] = input;
    return h("label.check", input, label);
  }

  #make() {
    const { asked } = this;
    this.#parts = {
      audience: h("div.stack"), attributes: h("div"), state: h("div"), alert: h("div"), when: h("div.stack"), more: h("div.stack"),
    };
    const typeField = this.#text("type", "attributesType", "Activity type", { list: "types", placeholder: "MatchAttributes" });
    const group = this.#text("group", "groupId", "Group", { placeholder: "match-42", hint: "The same activity on many phones." });
    this.#inputs.group.value = asked.get("group") ?? "";
    this.#inputs.type.addEventListener("change", () => this.#choose(this.#inputs.type.value.trim()));
    this.#form = h("form.stack", { novalidate: true, oninput: () => this.#changed(), onsubmit: (event) => { event.preventDefault(); this.#send(event.submitter); } },
      this.#said,
      card("What", null, h("div.in",
        choice("Event", "event", [["start", "Start"], ["update", "Update"], ["end", "End"]], this.#event, (value) => { this.#event = value; this.#drawEvent(); this.#changed(); }),
        h("div.pair", typeField, group),
        h("datalist", { id: "types" }, this.#types.map((name) => h("option", { value: name }))))),
      card("Audience", null, h("div.in", this.#parts.audience)),
      card("Content", null, h("div.in", this.#parts.attributes, this.#parts.state, this.#parts.alert)),
      card("When", null, h("div.in", this.#parts.when)),
      h("details", h("summary", "More: dates, priority and rare cases"), h("section.card", h("div.in", this.#parts.more))),
      h("div.buttons",
        h("button.main", { type: "submit", value: "send" }, "Send …"),
        h("button", { type: "submit", value: "dry" }, "Try it out"),
        this.#keepButton()));
    show(this.#place, head("Compose", { sub: "Try it out first: a dry run counts the phones and pushes nothing." }),
      h("div.compose", this.#form, this.#aside));
    this.#drawEvent();
  }
  #parts; #keep;

  #keepButton() {
    this.#keep = h("button", { type: "submit", value: "keep" }, "Save as definition");
    return this.#keep;
  }

  #drawEvent() {
    const isStart = this.#event === "start";
    const parts = this.#parts;
    this.#audience = isStart ? "everyone" : "group";
    parts.audience.replaceChildren(choice("Audience", "audience", isStart
      ? [["everyone", "Everyone"], ["segments", "Segments"], ["tags", "Tags"], ["users", "Users"]]
      : [["group", "The group"], ["users", "Users"], ["activities", "Activities"]],
    this.#audience, (value) => { this.#audience = value; this.#drawAudience(inner); this.#changed(); }));
    const inner = h("div.stack");
    parts.audience.append(inner);
    this.#drawAudience(inner);
    parts.attributes.hidden = !isStart;
    this.#keep.hidden = !isStart;
    const optional = isStart ? "A start must have a title or a body." : "Optional. Without an alert the activity changes silently.";
    const kept = { title: this.#inputs.title?.value ?? "", body: this.#inputs.body?.value ?? "" };
    parts.alert.replaceChildren(h("div.stack", h("div.pair",
      this.#text("title", "alert.title", "Alert title", { hint: optional }), this.#text("body", "alert.body", "Alert body")),
      this.#text("sound", "alert.sound", "Sound", { placeholder: "default" })));
    this.#inputs.title.value = kept.title;
    this.#inputs.body.value = kept.body;
    this.#drawWhen();
    this.#drawMore();
  }

  #drawAudience(place) {
    const hints = { group: "All phones with an activity of the group.", everyone: "All phones of the app with a start token." };
    if (this.#audience === "segments") {
      const boxes = this.#segments.map((name) => {
        const input = h("input", { type: "checkbox", value: name });
        return [input, h("label.check", input, name)];
      });
      this.#inputs.segments = boxes.map(([input]) => input);
      place.replaceChildren(h("fieldset.field", { "data-path": "audience.segments" }, h("legend.label", "Segments"),
        boxes.length ? h("div.checks", boxes.map(([, label]) => label))
          : h("p.hint", "The app has no segments. Create one with PUT /v1/segments/{name}.")));
    } else if (["tags", "users", "activities"].includes(this.#audience)) {
      place.replaceChildren(this.#text("names", `audience.${this.#audience}`,
        { tags: "Tags", users: "User ids", activities: "Activity ids" }[this.#audience],
        { rows: 3, hint: "One per line or separated by commas; at most 10,000." }));
    } else {
      place.replaceChildren(h("p.note", hints[this.#audience]));
    }
  }

  #drawWhen() {
    const inner = h("div");
    const draw = () => {
      if (this.#when === "offset") {
        inner.replaceChildren(this.#text("offset", "when.offset", "Seconds from now", { inputmode: "numeric", placeholder: "600" }));
      } else if (this.#when === "at") {
        inner.replaceChildren(this.#text("at", "when", "At", { type: "datetime-local", step: 1, hint: "In your own time zone." }));
      } else inner.replaceChildren();
    };
    this.#parts.when.replaceChildren(choice("When", "when", [["now", "Now"], ["offset", "After a delay"], ["at", "At a time"]], this.#when,
      (value) => { this.#when = value; draw(); this.#changed(); }), inner);
    draw();
  }

  #drawMore() {
    const isStart = this.#event === "start";
    const date = (name, label, hint) => this.#text(name, name, label, { type: "datetime-local", step: 1, hint });
    const priority = select([["", "10, at once"], ["5", "5, when it suits the phone"]], "");
    this.#inputs.priority = priority;
    this.#inputs.onUnknownStart = select([["", "Do not start again"], ["resend", "Start again"]], "");
    this.#parts.more.replaceChildren(
      h("div.pair",
        field("Priority", priority, { path: "priority" }),
        this.#event !== "end" && date("staleDate", "Outdated from"),
        this.#event === "end" && date("dismissalDate", "Leaves the lock screen"),
        isStart && date("endDate", "Ends at"),
        date("deadline", "Deadline"),
        date("expiration", "APNs keeps it until"),
        this.#text("relevanceScore", "relevanceScore", "Relevance score", { inputmode: "decimal" }),
        this.#text("collapseId", "collapseId", "Collapse id")),
      isStart && field("If the outcome of a start is unknown", this.#inputs.onUnknownStart, { path: "onUnknownStart" }),
      h("div.checks",
        isStart && this.#check("restart", "Restart: also phones that started or dismissed it before"),
        isStart && this.#check("inputPushToken", "Ask iOS 18 for an update token"),
        this.#event === "update" && this.#check("conflate", "A newer update may replace it while it waits", true)));
  }

  async #choose(name) {
    this.#type = null;
    if (name) {
      try { this.#type = await get(`/v1/activity-types/${segment(name)}`, this.signal.signal); } catch (error) {
        if (error.status !== 404) throw error;
      }
    }
    const isKnown = !!this.#type;
    const keptState = this.#read(() => this.#stateForm?.read());
    const keptAttributes = this.#read(() => this.#attributesForm?.read());
    this.#stateForm = valueForm("Content state", "contentState", this.#type?.contentStateSchema,
      isKnown ? "The type has no schema. A phone silently drops content that it cannot decode." : "As JSON.");
    this.#attributesForm = valueForm("Attributes", "attributes", this.#type?.attributesSchema ?? this.#required(), "As JSON. The gateway adds the group.");
    if (keptState && Object.keys(keptState).length) this.#stateForm.write(keptState);
    if (keptAttributes && Object.keys(keptAttributes).length) this.#attributesForm.write(keptAttributes);
    this.#parts.state.replaceChildren(this.#stateForm.element);
    this.#parts.attributes.replaceChildren(this.#attributesForm.element);
    this.#changed();
  }

  /** A schema for a type that only lists its required attributes. */
  #required() {
    const required = this.#type?.requiredAttributes;
    return required?.length ? Object.fromEntries(required.map((name) => [name, "string"])) : undefined;
  }

  /** Fills an update with the group's current state. */
  async #prefill() {
    const group = this.asked.get("group");
    if (!group || this.#event === "start") return;
    try {
      const { newest } = await get(`/v1/groups/${segment(group)}`, this.signal.signal);
      if (newest?.contentState) this.#stateForm.write(newest.contentState);
    } catch { /* The form stays empty. */ }
  }

  #read(read) { try { return read(); } catch { return undefined; } }

  #audienceValue() {
    if (this.#audience === "everyone" || this.#audience === "group") return this.#audience;
    if (this.#audience === "segments") return { segments: this.#inputs.segments.filter(({ checked }) => checked).map(({ value }) => value) };
    return { [this.#audience]: names(this.#inputs.names.value) };
  }

  /** The body of `POST /v1/sends`. */
  #body() {
    const inputs = this.#inputs;
    const isStart = this.#event === "start";
    const text = (name) => inputs[name]?.value.trim() || undefined;
    const alert = { title: text("title"), body: text("body"), sound: text("sound") };
    const body = {
      event: this.#event, groupId: text("group"), attributesType: text("type"), audience: this.#audienceValue(),
      contentState: this.#stateForm.read(), attributes: isStart ? this.#attributesForm.read() ?? {} : undefined,
      alert: alert.title || alert.body || alert.sound ? alert : undefined,
      priority: whole(inputs.priority, "priority"), relevanceScore: whole(inputs.relevanceScore, "relevanceScore"),
      collapseId: text("collapseId"), restart: inputs.restart?.checked && isStart ? true : undefined,
      inputPushToken: inputs.inputPushToken?.checked && isStart ? true : undefined,
      conflate: this.#event === "update" && !inputs.conflate.checked ? false : undefined,
      onUnknownStart: isStart && inputs.onUnknownStart.value ? inputs.onUnknownStart.value : undefined,
    };
    if (this.#audience === "activities") body.groupId = text("group");
    for (const name of ["staleDate", "dismissalDate", "endDate", "deadline", "expiration"]) {
      const isOfEvent = { staleDate: this.#event !== "end", dismissalDate: this.#event === "end", endDate: isStart }[name] ?? true;
      if (isOfEvent && inputs[name]) body[name] = seconds(inputs[name]);
    }
    if (this.#when === "offset") body.when = { offset: whole(inputs.offset, "when.offset") ?? 0 };
    if (this.#when === "at") body.when = seconds(inputs.at);
    return body;
  }

  #changed() {
    if (!this.#stateForm) return;
    this.#key = freshKey();
    const body = this.#read(() => this.#body());
    this.#drawAside(body);
  }

  #drawAside(body) {
    const about = body && payloadBytes(body);
    const exactly = this.#dry?.accepted.bytes;
    const size = exactly ?? about;
    show(this.#aside,
      card("On the lock screen", "a sketch", h("div.in",
        body ? lockScreen({ ...body, app: session.app, type: body.attributesType }) : h("p.note", "The form has an invalid value."))),
      card("Size", null, h("div.in", size === undefined ? h("p.note", "–")
        : bar("Bytes", [{ name: "bytes", value: Math.min(size, payloadBytesMax), series: size > payloadBytesMax ? 2 : 0 }], payloadBytesMax,
          [h("span", h("b", exactly ? bytes(size) : `about ${bytes(size)}`), ` of ${count(payloadBytesMax)}`),
            size > payloadBytesMax && h("b", "too large")]))),
      this.#dry && card("Dry run", null, h("div.in", this.#dryResult())),
      this.#result);
  }

  #dryResult() {
    const { accepted, progress, error, isStale } = this.#dry;
    const left = Object.entries(progress?.excluded ?? {}).filter(([, number]) => number > 0);
    return [
      isStale && notice("", "The form has changed since the dry run."),
      error ? notice("warn", what(error))
        : !progress?.isComplete ? h("p", { role: "status" }, "Counting …")
          : h("p", { role: "status" }, h("strong", counted(progress.expanded, "phone")), ` would get it, of ${counted(progress.targeted, "targeted phone")}.`),
      progress?.reason === "unknown_group" && notice("warn", "This group is unknown."),
      accepted.warnings.length > 0 && notice("warn", h("ul", accepted.warnings.map(({ field: path, message }) => h("li", path && h("code", path), ` ${message}`)))),
      progress?.findings?.length > 0 && notice("warn", h("ul", progress.findings.map((finding) => h("li", finding)))),
      left.length > 0 && table("Excluded phones", [
        { title: "Reason", cell: ([reason]) => excluded(reason)[0] },
        { title: "Phones", kind: "number", cell: ([, number]) => count(number) },
      ], left, ([reason]) => reason),
    ];
  }

  #refuse(error) {
    if (error instanceof FieldError) return show(this.#said, showProblems(this.#form, [{ field: error.path, message: error.message }]));
    if (error instanceof Refusal && error.problems.length && !error.isAway) return show(this.#said, showProblems(this.#form, error.problems));
    show(this.#said, notice("bad", coded(what(error))));
    this.#said.scrollIntoView({ block: "nearest" });
  }

  async #send(button) {
    clearProblems(this.#form);
    show(this.#said);
    const deed = button?.value ?? "send";
    try {
      const body = this.#body();
      if (deed === "dry") await during(button, () => this.#tryOut(body));
      else if (deed === "keep") await during(button, () => this.#keepDefinition(body));
      else await this.#reallySend(body, button);
    } catch (error) { this.#refuse(error); }
  }

  async #tryOut(body) {
    this.#dry?.stop();
    this.#dry = null;
    const accepted = await post("/v1/sends", { ...body, when: undefined, latenessMax: undefined, dryRun: true });
    this.#dry = new DryRun(accepted, () => this.#drawAside(this.#read(() => this.#body())));
    this.#drawAside(body);
  }

  async #reallySend(body, button) {
    const whom = typeof body.audience === "string"
      ? { everyone: "everyone", group: `the group ${body.groupId ?? ""}` }[body.audience]
      : Object.entries(body.audience).map(([kind, list]) => `${counted(list.length, kind.replace(/(ie)?s$/, (_, ie) => (ie ? "y" : "")), kind)}: ${list.slice(0, 5).join(", ")}${list.length > 5 ? " …" : ""}`)[0];
    const reach = this.#dry?.progress?.isComplete ? ` In the dry run, ${counted(this.#dry.progress.expanded, "phone")} would get it.` : "";
    const later = body.when !== undefined;
    const isMeant = await confirm(`${{ start: "Start", update: "Update", end: "End" }[body.event]} ${body.groupId ?? ""}`,
      [h("p", `This goes to ${whom}${later ? ", later" : ", now"}.${reach}`)], later ? "Schedule" : "Send", body.event === "end" ? "danger" : "main");
    if (!isMeant) return;
    const accepted = await during(button, () => post("/v1/sends", body, { "Idempotency-Key": this.#key }));
    location.hash = toAsking({ at: accepted.acceptedAt }, "sends", accepted.sendId);
  }

  async #keepDefinition(body) {
    const { notificationKey } = await post("/rest/3.0/createNotificationDefinition", {
      title: body.alert?.title, message: body.alert?.body, platforms: ["IOS"], contentState: body.contentState,
      liveActAttr: body.attributes, liveActAttrType: body.attributesType, groupId: body.groupId,
    });
    show(this.#said, notice("good", "Saved as ", h("a", { href: toAsking({ key: notificationKey }, "definitions") }, String(notificationKey)), ". Nothing is sent until you send it to a user."));
  }

  stop() {
    this.signal.abort();
    this.#dry?.stop();
  }
}

export default {
  title: "Compose",
  role: "send",
  show(place, { asked }) {
    const compose = new Compose(place, asked);
    compose.begin().catch((error) => {
      if (compose.signal.signal.aborted) return;
      show(place, head("Compose"), notice("bad", coded(what(error))));
    });
    return () => compose.stop();
  },
};
