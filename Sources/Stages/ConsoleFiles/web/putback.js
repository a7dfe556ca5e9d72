// The states that a reader can put back: the state before an update, for a minute after it. They survive another page and a
// reload, in the storage of this tab.

import { session } from "./session.js";

export const putBackMilliseconds = 60_000;

const name = () => `put back ${session.app}`;

function all() {
  try { return JSON.parse(sessionStorage.getItem(name())) ?? {}; } catch { return {}; }
}

function store(states) {
  try { sessionStorage.setItem(name(), JSON.stringify(states)); } catch { /* The browser stores nothing. */ }
}

/**
 * Keeps the state before an update of a group. Without the version of the update it could overwrite a newer state, so it is
 * not kept.
 */
export function keepState(group, { before, after, version }) {
  const states = Object.fromEntries(Object.entries(all()).filter(([, { until }]) => until > Date.now()));
  delete states[group];
  if (before !== undefined && version !== undefined) states[group] = { before, after, version, until: Date.now() + putBackMilliseconds };
  store(states);
}

/** The state of a group that can be put back: `{before, after, version, until}`. Null if there is none, or its minute is over. */
export function keptState(group) {
  const state = all()[group];
  return state && state.until > Date.now() ? state : null;
}

/** The name of a card's group here, and the address of its drafts. */
export const addressOf = (group) => `match ${group.groupId} ${group.userId ?? ""}`;

/** Keeps the state before an update that a form has sent to a whole group. The live card then offers to put it back. */
export function keepBeforeSend(body, basis, { version }) {
  const isWholeGroup = body.audience === undefined || body.audience === "group";
  if (body.event === "update" && body.when === undefined && isWholeGroup && basis?.isKnown) {
    keepState(addressOf({ groupId: body.groupId }), { before: basis.state, after: body.contentState, version });
  }
}

export function forgetState(group) {
  const states = all();
  delete states[group];
  store(states);
}
