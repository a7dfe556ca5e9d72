// Composes a send: its form, its trial and its confirmation.

import { h } from "./h.js";
import { get } from "./api.js";
import { show } from "./patch.js";
import { coded, during, head, notice } from "./parts.js";
import { ago } from "./format.js";
import { toAsking } from "./router.js";
import { what } from "./away.js";
import { events, SendForm } from "./sendform.js";
import { SendDialog } from "./senddialog.js";
import { clearProblems, showRefusal } from "./problems.js";
import { hasMoved } from "./groupstate.js";
import { watchGroup } from "./groupwatch.js";
import { movedNotice } from "./difference.js";
import { freshKey, lookUp } from "./deliver.js";
import { discardDraft, draftOf, saveDraft } from "./drafts.js";
import { otherForms } from "./unsent.js";
import { formOfDefinition, saveDefinition } from "./definitions.js";
import { isSameBody, Trial } from "./trial.js";
import { composeAside, shownAttributes } from "./composeaside.js";
import { keepBeforeSend } from "./putback.js";

const retryMilliseconds = 2000;

export class Composer {
  signal = new AbortController();
  #asked; #address; #form; #key = freshKey(); #body; #trial = null; #newest = null;
  #said = h("div"); #moved = h("div"); #aside = h("div.side-by"); #keep; #stopWatch = () => {}; #isLookingUp = false;

  constructor(place, asked) {
    this.place = place;
    this.#asked = asked;
    this.#address = asked.toString();
  }

  async begin() {
    const { signal } = this.signal;
    const [types, segments, groups] = await Promise.all([get("/v1/activity-types", signal), get("/v1/segments", signal),
      get("/v1/groups?state=live&limit=100", signal).catch(() => ({ items: [] }))]);
    const draft = draftOf(this.#address);
    const namesOf = ({ items }) => items.map(({ name }) => name);
    const asked = events.map(([name]) => name).find((name) => name === this.#asked.get("event")) ?? "start";
    const known = { types: namesOf(types), segments: namesOf(segments), groups: groups.items };
    this.#form = new SendForm(draft?.form?.event ?? asked, known, { changed: (how) => this.#changed(how), groupChosen: (group) => this.#groupChosen(group) });
    this.#draw();
    if (draft?.form) await this.#restore(draft);
    else if (this.#asked.get("definition")) await this.#form.restore(await formOfDefinition(this.#asked, signal), null, signal);
    else await this.#fillIn(known);
    this.#changed({ isByReader: false });
    this.#stopWatch = watchGroup(this.#form, (group) => { this.#newest = group; this.#drawMoved(); });
    await this.#lookUpPending(draft?.pending);
  }

  #draw() {
    const press = (work) => (event) => this.#pressed(event.currentTarget, work);
    this.#keep = h("button", { type: "button", value: "keep", onclick: press((button) => during(button, () => this.#keepDefinition())) }, "Save as definition");
    this.place.replaceChildren(head("Compose", { sub: "Before a send, the console shows the change and counts the phones. Enter never sends." }));
    this.place.append(h("div.compose",
      h("div.stack", otherForms(this.#address), this.#said, this.#moved, this.#form.element,
        h("div.buttons",
          h("button.main", { type: "button", value: "send", onclick: press((button) => this.#ask(button)) }, "Send …"),
          h("button", { type: "button", value: "dry", onclick: press((button) => during(button, () => this.#tryOut())) }, "Try it out"),
          this.#keep)),
      this.#aside));
  }

  async #restore(draft) {
    await this.#form.restore(draft.form, draft.basis, this.signal.signal);
    show(this.#said, notice("", `This form is as you left it, ${ago(draft.at)}. `,
      h("button.small", { type: "button", onclick: () => { discardDraft(this.#address); this.#form = null; location.reload(); } }, "Start afresh")));
  }

  /** Fills a new form in: the group of the address, and its newest state. */
  async #fillIn(known) {
    const group = this.#asked.get("group") ?? "";
    const isOnlyGroup = !group && this.#form.event !== "start" && known.groups.length === 1;
    this.#form.groupId = isOnlyGroup ? known.groups[0].groupId : group;
    const type = this.#asked.get("type") || (this.#form.event === "start" ? known.types[0] : "") || "";
    if (type) await this.#form.chooseType(type, this.signal.signal);
    this.#form.chooseUser(this.#asked.get("user"));
    await this.#groupChosen(this.#form.groupId);
  }

  /** Fills the type and the newest state of a group in. A start has its own state. */
  async #groupChosen(id) {
    this.#newest = null;
    this.#form.basis = null;
    if (!id || this.#form.event === "start") return this.#drawMoved();
    try {
      this.#newest = await this.#form.readGroup(this.signal.signal);
    } catch (error) {
      if (this.signal.signal.aborted) return;
      show(this.#said, notice("warn", coded(what(error))));
      if (error.isAway) setTimeout(() => { if (id === this.#form?.groupId && !this.#form.basis) this.#groupChosen(id); }, retryMilliseconds);
      return;
    }
    show(this.#said);
    this.#changed({ isByReader: false });
    this.#drawMoved();
  }

  #drawMoved() {
    const isMoved = this.#newest && hasMoved(this.#form.basis, this.#newest);
    show(this.#moved, isMoved && movedNotice({ form: this.#form, newest: this.#newest, take: () => this.#rebase(this.#newest, true) }));
  }

  #rebase(newest, isTaken) {
    this.#form.takeGroup(newest, { isForced: isTaken });
    // The send names another version now, so it is another request.
    this.#key = freshKey();
    this.#newest = newest;
    this.#changed();
    this.#drawMoved();
  }

  #changed({ isByReader = true } = {}) {
    if (!this.#form) return;
    let body;
    try { body = this.#form.body(); } catch { /* A value cannot be sent yet. */ }
    // A changed body is another send, and the trial of the body before says nothing about it.
    if (!body || !isSameBody(body, this.#body)) {
      this.#key = freshKey();
      if (this.#trial && !isSameBody(body, this.#trial.body)) { this.#trial.stop(); this.#trial = null; }
    }
    this.#body = body;
    this.#keep.hidden = this.#form.event !== "start";
    if (isByReader) this.#save();
    this.#drawAside();
  }

  #drawAside() {
    if (this.#form) composeAside(this.#aside, { form: this.#form, body: this.#body, trial: this.#trial, attributes: this.#attributes });
  }

  get #attributes() { return shownAttributes(this.#form, () => this.#drawAside()); }
  #save(fields = {}) {
    // After the page is left, the tab may show another app. What is stored stays, and is looked up later.
    if (this.signal.signal.aborted) return;
    saveDraft(this.#address, { title: `${this.#form.event} of ${this.#form.groupId || "no group"}`, form: this.#form.snapshot(), basis: this.#form.basis, ...fields });
  }

  async #pressed(button, work) {
    clearProblems(this.#form.element);
    show(this.#said);
    try { await work(button); } catch (error) { if (!this.signal.signal.aborted) showRefusal(this.#said, this.#form.element, error); }
  }

  async #tryOut() {
    this.#trial?.stop();
    const trial = this.#trial = new Trial(this.#form.body(), () => { if (trial === this.#trial) this.#drawAside(); });
    await trial.start();
    this.#drawAside();
    this.#aside.querySelector(".trial")?.scrollIntoView({ block: "nearest" });
  }

  async #ask() {
    if (this.#isLookingUp) throw new Error("The send before is still looked up. Wait for its outcome");
    const [body, key] = [this.#form.body(), this.#key];
    const dialog = new SendDialog({ body, key, verb: body.when !== undefined ? "Schedule" : "Send", isForm: true, layout: this.#form.layout, attributes: this.#attributes, basis: this.#form.event === "start" ? null : this.#form.basis,
      onAttempt: () => this.#save({ pending: { body, key, at: Date.now() } }), onRefused: () => this.#save({ pending: undefined }) });
    const result = await dialog.open();
    if (result.accepted) return this.#sent(result.accepted, body);
    if (result.notStored) return this.#notStored();
    if (result.newest) return this.#rebase(result.newest, result.isTaken === true);
    if (result.refused) { this.#save({ pending: undefined }); throw result.refused; }
    // The dialog was closed before the outcome was known.
    await this.#lookUpPending(draftOf(this.#address)?.pending);
  }

  #sent(accepted, body) {
    keepBeforeSend(body, this.#form.basis, accepted);
    discardDraft(this.#address);
    this.#form = null;
    location.hash = toAsking({ at: accepted.acceptedAt }, "sends", accepted.sendId);
  }

  #notStored() {
    this.#save({ pending: undefined });
    show(this.#said, notice("warn", "The send was not stored, so nothing was sent. The form is unchanged. Press Send again."));
  }

  /** Finds out about a send whose answer was lost, if there is one. */
  async #lookUpPending(pending) {
    if (!pending) return;
    const say = (error) => show(this.#said, notice("warn", "The answer to this send was lost. The console looks it up. ", error && coded(what(error))));
    say();
    this.#isLookingUp = true;
    try {
      const found = await lookUp(pending, { say, signal: this.signal.signal });
      found ? this.#sent(found, pending.body) : this.#notStored();
    } catch (error) { if (!this.signal.signal.aborted) showRefusal(this.#said, this.#form.element, error); } finally { this.#isLookingUp = false; }
  }

  async #keepDefinition() {
    const key = await saveDefinition(this.#form.body());
    show(this.#said, notice("good", "Saved as ", h("a", { href: toAsking({ key }, "definitions") }, String(key)), ". Nothing is sent until you send it to a user."));
  }

  stop() {
    this.signal.abort();
    this.#stopWatch();
    this.#trial?.stop();
  }
}
