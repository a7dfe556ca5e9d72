// The confirmation of a send. It shows the change, the phones and the time, from a trial of exactly this body that it
// runs itself. If the planner refuses a form that is older than the newest state of its group, it shows both states.

import { h } from "./h.js";
import { coded, notice, tapPauseMilliseconds, withoutEnter } from "./parts.js";
import { show } from "./patch.js";
import { what } from "./away.js";
import { changeTable, movedTable } from "./difference.js";
import { groupState, ifUnmoved, isNewerState } from "./groupstate.js";
import { Trial } from "./trial.js";
import { deliver, lookUp } from "./deliver.js";
import { trialFindings } from "./trialresult.js";
import { sendSentence, unsure } from "./sendwords.js";
import { preview } from "./preview.js";
import { stateWords } from "./layout.js";

/** The time after which a reader may send although the trial has not counted all phones. */
const trialPatienceMilliseconds = 8000;

export class SendDialog {
  #send; #dialog; #inside = h("div.stack"); #title = h("h2", { id: "dialog-title" });
  #yes; #no; #resolve;
  #trial = null; #newest = null; #stateError = null; #refusal = null;
  /** What the dialog does: checking, asking, sending or looking up. */
  #phase = "checking";
  /** The doubt whose box the reader has ticked. Another doubt needs another tick. */
  #sureOf = null;
  #end = new AbortController();
  // A clock that nobody can set.
  #openedAt = performance.now();
  /** Whether the planner has refused the send or its trial, because the group has a newer state. */
  #isMoved = false;
  #lookupNote = null;
  #attemptedAt;

  /**
   * @param send `{body, key, layout, attributes, basis, verb, isForm}`. `basis` is the group as the reader has seen it. `isForm`: the reader
   * can go on with a form if the group has moved on.
   * `onAttempt` is called before the request leaves, and `onRefused` if the planner has refused it because the group has moved on.
   */
  constructor(send) { this.#send = { ...send, body: ifUnmoved(send.body, send.basis) }; }

  /** Opens the dialog. Resolves to `{accepted}`, `{refused}`, `{notStored}`, `{newest}`, or `{}` for "Not now". */
  open() {
    const { body, verb } = this.#send;
    this.#no = h("button", { type: "button", value: "no", autofocus: true, onclick: () => this.#close({}) }, "Not now");
    this.#yes = h(body.event === "end" ? "button.danger" : "button.main", { type: "button", value: "yes", onclick: () => this.#confirmed() }, verb);
    this.#dialog = h("dialog.send", { "aria-labelledby": "dialog-title", onkeydown: withoutEnter },
      h("form", { method: "dialog", onsubmit: (event) => event.preventDefault() },
        this.#title, this.#inside, h("div.actions", this.#no, this.#yes)));
    // Escape closes the dialog, and so does another page. While a request is under way, its outcome is awaited.
    this.#dialog.addEventListener("cancel", (event) => { if (this.#phase === "sending") event.preventDefault(); });
    this.#dialog.addEventListener("close", () => this.#close({}));
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#draw();
    this.#check();
    for (const pause of [tapPauseMilliseconds, trialPatienceMilliseconds]) setTimeout(() => this.#draw(), pause + 20);
    return new Promise((resolve) => { this.#resolve = resolve; });
  }

  #close(result) {
    if (!this.#dialog.isConnected) return;
    this.#trial?.stop();
    this.#end.abort();
    this.#dialog.remove();
    this.#resolve(result);
  }

  /** Reads the group's newest state, and runs the trial. */
  async #check() {
    const isCompared = this.#send.body.event === "start" || this.#send.basis;
    if (!isCompared) await this.#takeBasis();
    if (this.#end.signal.aborted) return;
    this.#trial = new Trial(this.#send.body, () => this.#trialChanged());
    const [trial] = await Promise.allSettled([this.#trial.start(), isCompared && this.#readNewest()]);
    if (this.#end.signal.aborted) return;
    if (trial.status === "rejected") {
      if (trial.reason.isAway) this.#trial.error = trial.reason;
      else if (isNewerState(trial.reason)) this.#isMoved = true;
      else return this.#close({ refused: trial.reason });
    }
    if (this.#phase === "checking") this.#phase = "asking";
    this.#draw();
  }

  /** Makes the state that this dialog shows the basis of a send without one. */
  async #takeBasis() {
    await this.#readNewest();
    this.#send.basis = this.#newest;
    this.#send.body = ifUnmoved(this.#send.body, this.#newest);
  }

  async #readNewest() {
    const { body: { groupId }, basis } = this.#send;
    if (!groupId) return;
    try {
      this.#newest = await groupState(groupId, { signal: this.#end.signal, userId: basis?.userId });
      this.#stateError = null;
    } catch (error) {
      if (!this.#end.signal.aborted) this.#stateError = error;
    }
  }

  /** The planner's verdict on the trial can come after the answer. */
  #trialChanged() {
    if (this.#trial.progress?.verdict === "newer_state") this.#isMoved = true;
    this.#draw();
  }

  /** Shows that the planner has refused the send. */
  async #movedOn() {
    this.#send.onRefused?.();
    await this.#readNewest();
    this.#isMoved = true;
    this.#phase = "asking";
    this.#draw();
  }

  #isOpenFor(milliseconds) { return performance.now() - this.#openedAt > milliseconds; }
  get #isSlow() { return this.#isOpenFor(trialPatienceMilliseconds); }

  /** The reason for which the reader must tick a box before the send, or null. */
  get #doubt() {
    return unsure({ body: this.#send.body, newest: this.#newest, stateError: this.#stateError, trial: this.#trial, isSlow: this.#isSlow });
  }

  get #mayConfirm() {
    if (this.#phase !== "asking" || this.#isMoved || !this.#isOpenFor(tapPauseMilliseconds) || !(this.#trial.isOver || this.#isSlow)) return false;
    const doubt = this.#doubt;
    return doubt ? this.#sureOf === doubt.text : true;
  }

  async #confirmed() {
    if (!this.#mayConfirm) return;
    this.#phase = "sending";
    this.#draw();
    const { body, key, onAttempt } = this.#send;
    this.#attemptedAt = Date.now();
    onAttempt?.();
    try {
      const { accepted, lost } = await deliver(body, key);
      if (accepted) return this.#close({ accepted });
      if (lost) return await this.#find();
    } catch (error) { await (isNewerState(error) ? this.#movedOn() : this.#close({ refused: error })); }
  }

  /** Looks the send up until the gateway says whether it is stored. */
  async #find() {
    this.#phase = "looking";
    this.#draw();
    const { body, key } = this.#send;
    try {
      const say = (error) => { this.#lookupNote = what(error); this.#draw(); };
      const found = await lookUp({ body, key, at: this.#attemptedAt }, { say, signal: this.#end.signal });
      this.#close(found ? { accepted: found } : { notStored: true });
    } catch (error) {
      if (!this.#end.signal.aborted) this.#close({ refused: error });
    }
  }

  #draw() {
    if (!this.#dialog.isConnected) return;
    this.#title.textContent = this.#isMoved ? `${this.#send.body.groupId} ${this.#newest?.isEnded ? "has ended" : "has moved on"}` : sendSentence({ ...this.#send, newest: this.#newest, trial: this.#trial });
    this.#yes.disabled = !this.#mayConfirm;
    this.#yes.hidden = this.#isMoved || this.#phase === "looking";
    this.#no.disabled = this.#phase === "sending";
    this.#no.textContent = this.#phase === "looking" ? "Close" : "Not now";
    show(this.#inside, this.#phase === "looking" ? this.#lookingUp() : this.#isMoved ? this.#moved() : this.#change());
  }

  #lookingUp() {
    return [notice("warn", "The answer to this send was lost. The console looks up whether it is stored. Do not send it again from another place."),
      this.#lookupNote && h("p.note", { role: "status" }, coded(this.#lookupNote))];
  }

  /** The refusal of a form that is older than the group's newest state. */
  #moved() {
    const { basis, body, isForm } = this.#send;
    return [
      notice("bad", `Nothing was sent. ${body.groupId} ${this.#newest?.isEnded ? "has ended, and " : ""}has a newer state than this ${isForm ? "form" : "card"} had.`),
      movedTable(basis?.state, this.#newest?.state, body.contentState),
      isForm && h("div.buttons", h("button", { type: "button", onclick: () => this.#close({ newest: this.#newest, isTaken: true }) }, "Take the newest state into the form"),
        h("button", { type: "button", onclick: () => this.#close({ newest: this.#newest }) }, "Keep my values and look again")),
    ];
  }

  #change() {
    const { body, layout, attributes } = this.#send;
    const isRunning = this.#newest?.isKnown && this.#newest.state !== undefined;
    const doubt = this.#doubt;
    return [
      isRunning && body.event === "start" && notice("", `The group already runs. Phones that join get its newest state, ${stateWords(layout, this.#newest.state)}, and not the state of this form.`),
      isRunning && body.event !== "start" && body.contentState !== undefined && changeTable(this.#newest.state, body.contentState),
      trialFindings(this.#trial),
      h("details.preview", { open: true }, h("summary", "Preview"),
        preview({ layout, event: body.event, alert: body.alert, state: body.contentState ?? this.#newest?.state, attributes, title: body.attributesType ?? this.#newest?.type, staleDate: body.staleDate })),
      doubt && [notice("warn", coded(doubt.text)), h("label.check",
        h("input", { type: "checkbox", checked: this.#sureOf === doubt.text, onchange: (event) => { this.#sureOf = event.target.checked ? doubt.text : null; this.#draw(); } }), doubt.box)],
      this.#phase === "sending" && h("p", { role: "status" }, "Sending …"),
    ];
  }
}
