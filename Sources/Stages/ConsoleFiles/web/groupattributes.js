// The attributes of groups, such as the names of two teams. The starts of a group have them, and its updates do not.

import { get, query } from "./api.js";
import { session } from "./session.js";

/** The requests that run at the same time. A page with more groups asks for the others with its next polls. */
const asksMax = 4;
/** The pause after a request that failed. */
const retryMilliseconds = 10_000;
/** Insight lists a new start after a moment. */
const settleMilliseconds = 15_000;

const known = new Map();
let asks = 0;

/**
 * The attributes of a group's newest start, of the last 24 hours. Undefined until they are read, and if they are long.
 *
 * @param group `{groupId, startedAt, userId}`. A group that belongs to one user has none here.
 * @param found called when they are read.
 */
export function attributesOf({ groupId, startedAt, userId }, found = () => {}) {
  if (!groupId || userId) return undefined;
  const key = `${session.app} ${groupId} ${startedAt ?? ""}`;
  const before = known.get(key);
  if (before && (before.isAsking || before.attributes || Date.now() < before.askAt)) return before.attributes;
  if (asks >= asksMax) return undefined;
  asks += 1;
  known.set(key, { isAsking: true });
  const done = (attributes, pause) => {
    asks -= 1;
    known.set(key, { attributes, askAt: Date.now() + pause });
    if (attributes) found();
  };
  get(query("/v1/sends", { group: groupId, event: "start", limit: 1 })).then(({ items }) => {
    const isNew = !items.length && Date.now() - (startedAt ?? 0) < settleMilliseconds;
    done(items[0]?.attributes, isNew ? retryMilliseconds : Infinity);
  }, () => done(undefined, retryMilliseconds));
  return undefined;
}
