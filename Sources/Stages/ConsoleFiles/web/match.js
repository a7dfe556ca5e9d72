// The buttons of a live card: one step of the score, and "put back" for a minute after an update.

import { h } from "./h.js";
import { discardDraft, drafts, saveDraft } from "./drafts.js";
import { freshKey, lookUp } from "./deliver.js";
import { stateWords, steps } from "./layout.js";
import { SendDialog } from "./senddialog.js";
import { layoutFor } from "./typelayouts.js";
import { attributesOf } from "./groupattributes.js";
import { addressOf, forgetState, keepState, keptState } from "./putback.js";

/** The layout of a live group. */
export const layoutOfGroup = (group) => layoutFor(group.attributesType, group.newest?.contentState);

/** The sends of live cards. */
export class Match {
  #changed; #say; #signal;

  /** @param on `{changed, say, signal}`. `say` shows the outcome of a send: kind and text. */
  constructor({ changed, say, signal }) {
    this.#signal = signal;
    this.#changed = changed;
    this.#say = say;
  }

  /** The buttons of a card: one for each step of the score. Null if the group has none. */
  steps(group) {
    const state = group.newest?.contentState;
    if (state === undefined) return null;
    const made = steps(layoutOfGroup(group), state);
    return made.length > 0 && h("div.match", made.map(({ label, change }) =>
      h("button.step", { type: "button", onclick: () => this.#send(group, change(), this.#basis(group)) }, label)));
  }

  /** The button that sends the state before the last update, for a minute. Null if there is none. */
  putBack(group) {
    const kept = keptState(addressOf(group));
    return kept && h("button.undo", { type: "button", onclick: () => this.#putBack(group, kept) },
      `put back ${stateWords(layoutOfGroup(group), kept.before)} `, h("small", `${Math.ceil((kept.until - Date.now()) / 1000)} s`));
  }

  #basis({ groupId, userId, newest }) { return { id: groupId, userId, sendId: newest.sendId, version: newest.version, state: newest.contentState }; }

  #putBack(group, { before, version, after }) {
    // If another send has come since, the planner refuses and the dialog shows both states.
    return this.#send(group, before, { id: group.groupId, userId: group.userId, version, state: after }, true);
  }

  async #send(group, state, basis, isUndo = false) {
    const address = addressOf(group);
    const key = freshKey();
    const body = { event: "update", groupId: group.groupId, attributesType: group.attributesType,
      audience: group.userId ? { users: [group.userId] } : "group", contentState: state };
    const dialog = new SendDialog({ body, key, verb: "Send", layout: layoutOfGroup(group), attributes: attributesOf(group), basis,
      onAttempt: () => saveDraft(address, { pending: { body, key, at: Date.now(), isUndo, before: basis.state } }), onRefused: () => discardDraft(address) });
    const { accepted, refused, notStored } = await dialog.open();
    if (accepted) this.#sent(address, { body, isUndo, before: basis.state, accepted });
    else if (notStored) this.#say("warn", "The send was not stored, so nothing was sent.");
    else if (refused) this.#say("bad", refused.message);
    // The dialog was closed before the outcome was known.
    else if (drafts()[address]) return this.lookUpPending();
    else this.#changed();
    discardDraft(address);
  }

  #sent(address, { body, isUndo, before, accepted: { sendId, version }, said = `Sent to ${body.groupId}.` }) {
    if (isUndo) forgetState(address);
    else keepState(address, { before, after: body.contentState, version });
    this.#say("good", said, sendId);
    this.#changed();
  }

  /** Looks up the sends of live cards whose answers were lost. */
  async lookUpPending() {
    for (const [address, { pending }] of Object.entries(drafts())) {
      if (!address.startsWith("match ") || !pending) continue;
      const { body } = pending;
      this.#say("warn", `The answer to a send to ${body.groupId} was lost. The console looks it up.`);
      const found = await lookUp(pending, { signal: this.#signal });
      discardDraft(address);
      if (found) this.#sent(address, { ...pending, accepted: found, said: `The send to ${body.groupId} was stored.` });
      else this.#say("warn", `The send to ${body.groupId} was not stored, so nothing was sent.`);
    }
  }
}
