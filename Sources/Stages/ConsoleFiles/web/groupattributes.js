// The attributes of groups, such as the names of two teams. The starts of a group have them, and its updates do not.

import { get, query } from "./api.js";
import { session } from "./session.js";
import { serverNow } from "./clock.js";

/** The requests that run at the same time. A page with more groups asks for the others with its next polls. */
const asksMax = 4;
/** The pause after a request that failed. */
const retryMilliseconds = 10_000;
/** Insight lists a new start after a moment. */
const settleMilliseconds = 15_000;
/** A start waits this long at most between its acceptance and the time at which its group begins. */
const heldMilliseconds = 60_000;
/** The sends of a group without a known beginning that are searched for its newest start. */
const searchedMax = 500;

const known = new Map();
let asks = 0;

/** The query for the start with which a group began. */
const startOf = ({ groupId, startedAt }) => query("/v1/sends", { group: groupId, event: "start", limit: startedAt ? 20 : searchedMax,
  from: startedAt && startedAt - heldMilliseconds, to: startedAt && startedAt + 1000 });

/**
 * The attributes of the start with which a group began. Undefined until they are read, and if they are long. Without `startedAt` they
 * are those of the newest start of the last 24 hours.
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
  get(startOf({ groupId, startedAt })).then(({ items }) => {
    const isNew = !items.length && serverNow() - (startedAt ?? 0) < settleMilliseconds;
    done(items[0]?.attributes, isNew ? retryMilliseconds : Infinity);
  }, () => done(undefined, retryMilliseconds));
  return undefined;
}
