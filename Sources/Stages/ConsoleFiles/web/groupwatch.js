// Watches the group of a form, so that a reader sees at once that the form has become older than its group.

import { groupState } from "./groupstate.js";
import { poll } from "./poll.js";

const pollMilliseconds = 3000;

/**
 * @param took called with the newest state of the form's group, or null without a group.
 * @returns a function that stops the watching.
 */
export const watchGroup = (form, took) => poll(
  async (signal) => (form.groupId && form.event !== "start" && form.basis ? groupState(form.groupId, { signal, userId: form.basis.userId }) : null),
  (group) => { if (!group || group.id === form.groupId) took(group); },
  () => { /* The comparison right before the send reports the failure. */ },
  pollMilliseconds);
