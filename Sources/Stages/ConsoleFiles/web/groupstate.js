// The newest state of a group. A form keeps the state that it is based on. If the group has moved on since, the form
// must not be sent, because it would put an older state over a newer one.

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

/**
 * Whether the group has a newer state than the form.
 *
 * The console compares when a form opens, when the confirmation opens, and again right before the send. A send of
 * another caller can still come between the last comparison and this send. Only the planner can exclude that, with a
 * field of the send that names `basis.version`.
 */
export const hasMoved = (basis, newest) => basis?.sendId !== undefined && newest.sendId !== undefined
  && (basis.sendId !== newest.sendId || (basis.version !== undefined && basis.version !== newest.version));
