// The newest state of a group. A form keeps the state that it is based on. If the group has moved on since, the form
// must not be sent, because it would put an older state over a newer one. The planner decides that.

import { get, segment } from "./api.js";

/** A group as a form sees it. `isKnown` is false if nothing was sent to the group and no phone has reported it. */
export async function groupState(id, signal) {
  try {
    const group = await get(`/v1/groups/${segment(id)}`, signal);
    const { newest } = group;
    return {
      id, isKnown: isReal(group), isEnded: group.state === "ended", type: group.attributesType,
      sendId: newest?.sendId, version: newest?.version, state: newest?.contentState, acceptedAt: newest?.acceptedAt,
    };
  } catch (error) {
    if (error.status === 404) return { id, isKnown: false };
    throw error;
  }
}

/** Whether a group has a start or a phone. A mistyped name has neither. */
export const isReal = (group) => group.startedAt !== undefined || (group.running ?? 0) > 0;

/** A body with the version that its form is based on. The planner refuses it if the group has moved on since. */
export function ifUnmoved(body, basis) {
  // A start joins the newest state. A send for later is meant for the group as it is then.
  const isCompared = body.event !== "start" && body.when === undefined && basis?.version !== undefined;
  return isCompared ? { ...body, ifVersion: basis.version } : body;
}

/** Whether the planner refused a send, or its trial, because the group has a newer state than the form. */
export const isNewerState = (error) => error?.code === "newer_state";

/** Whether the group has a newer state than the form, for a notice beside the form. */
export const hasMoved = (basis, newest) => basis?.sendId !== undefined && newest.sendId !== undefined
  && (basis.sendId !== newest.sendId || (basis.version !== undefined && basis.version !== newest.version));
