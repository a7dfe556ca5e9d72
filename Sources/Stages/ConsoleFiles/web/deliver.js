// Sends a body once. If the answer is lost, it looks the send up by its idempotency key.

import { get, post, query, segment } from "./api.js";

/** A new idempotency key. It makes every repetition of a request the same send. */
export const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

const pauseMilliseconds = 2000;
/** A request that the gateway has taken can be unreadable for a moment. */
const settleMilliseconds = 4000;
/** A gateway that lost its caller can still store the request: until `gateway.acknowledge-limit`, which is 10 s by default. */
const storedWithinMilliseconds = 12_000;

const pause = (signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, pauseMilliseconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
});

/** The part of a body that decides where its send is stored. */
function lookupPath(body, key) {
  const users = body.audience?.users;
  return query(`/v1/sends/keys/${segment(key)}`, {
    groupId: body.groupId, activityId: body.groupId ? undefined : body.audience?.activities?.[0],
    userId: users?.length === 1 ? users[0] : undefined, later: body.when !== undefined ? "true" : undefined,
  });
}

/**
 * Finds the send of a request whose answer was lost.
 *
 * @param attempt `{body, key, at}`. `at` is the time at which the request left, in milliseconds since 1970.
 * @param say called while the gateway does not answer.
 * @returns the send, or null if no such request is stored.
 */
export async function lookUp({ body, key, at = 0 }, { say, signal }) {
  let missingSince = null;
  for (;;) {
    try {
      return await get(lookupPath(body, key), signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      if (error.status === 404) {
        missingSince ??= Date.now();
        if (Date.now() - missingSince > settleMilliseconds && Date.now() - at > storedWithinMilliseconds) return null;
      } else if (error.isAway) missingSince = null;
      else throw error;
      say?.(error);
    }
    await pause(signal);
    if (signal?.aborted) throw new DOMException("stopped", "AbortError");
  }
}

/** Whether it is unknown after this error if the server has stored the request. */
export const isAnswerLost = (error) => error.isAway === true;

/**
 * Sends a body.
 *
 * @returns `{accepted}`, or `{lost: true}` if no answer came.
 */
export async function deliver(body, key) {
  try {
    return { accepted: await post("/v1/sends", body, { "Idempotency-Key": key }) };
  } catch (error) {
    if (isAnswerLost(error)) return { lost: true };
    throw error;
  }
}
