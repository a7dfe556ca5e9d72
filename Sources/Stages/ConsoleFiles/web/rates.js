// Figures over many sends: the pushes per second, and the failed pushes of the last hour.

import { call, query } from "./api.js";

const looksKept = 40;
const pagesMax = 10;
const pageSize = 500;
const hour = 3_600_000;

/** The pushes per second between two lists of sends. Each send counts by its id, so a new send never hides another one. */
export class PushRate {
  #pushed = new Map();
  #lookedAt = null;
  /** The rates of the last looks. */
  values = [];
  /** Whether there were more new sends than one list shows, so that the rate is a lower bound. */
  isLowerBound = false;

  add(at, sends) {
    const known = this.#pushed;
    const newest = Math.max(0, ...[...known.values()].map(({ acceptedAt }) => acceptedAt));
    this.#pushed = new Map(sends.map((send) => [send.sendId, { pushed: send.report?.pushed ?? 0, acceptedAt: send.acceptedAt }]));
    const before = this.#lookedAt;
    this.#lookedAt = at;
    if (before === null) return;
    let sum = 0;
    for (const [id, { pushed, acceptedAt }] of this.#pushed) {
      if (known.has(id)) sum += Math.max(0, pushed - known.get(id).pushed);
      else if (acceptedAt >= newest) sum += pushed;
    }
    this.isLowerBound = known.size > 0 && sends.length > 0 && !sends.some(({ sendId }) => known.has(sendId));
    this.values.push((sum * 1000) / Math.max(1, at - before));
    if (this.values.length > looksKept) this.values.shift();
  }

  get newest() { return this.values.at(-1); }
}

/**
 * The failed pushes of the last hour by reason, over all sends of that hour.
 *
 * @returns `{byReason, isLowerBound}`. It is a lower bound if the hour has more sends than the console reads.
 */
export async function failuresOfTheHour(signal, now = Date.now()) {
  const byReason = {};
  let cursor;
  for (let page = 0; page < pagesMax; page += 1) {
    // Each page is read once only, so it is not kept for a comparison.
    const answer = await call("GET", query("/v1/sends", { from: now - hour, limit: pageSize, cursor }), { signal });
    for (const { report } of answer.items) {
      for (const [reason, number] of Object.entries(report?.rejectedBy ?? {})) byReason[reason] = (byReason[reason] ?? 0) + number;
    }
    cursor = answer.next;
    if (!cursor) return { byReason, isLowerBound: false };
  }
  return { byReason, isLowerBound: true };
}
