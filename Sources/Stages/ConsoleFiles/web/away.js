// The notices of a page whose figures are missing or outdated.

import { coded, notice } from "./parts.js";
import { ago, time } from "./format.js";
import { serverNow } from "./clock.js";

const stillAfter = 20_000;

/** Whether only the insight stage is missing. */
const isInsightAway = (error) => error.code === "insight_away";

/**
 * Tracks whether the figures of a page are current.
 *
 * Call `took` for each answer and `failed` for each failure. `notices` returns the notices for the reader.
 */
export class Freshness {
  #asOf;
  #movedAt = Date.now();
  #partial;
  #error = null;
  #isInsightAway = false;
  hasFigures = false;

  took(answer) {
    this.#error = null;
    this.hasFigures = true;
    this.#isInsightAway = !!answer?.insightAway;
    // The earlier figures stay.
    if (this.#isInsightAway) return;
    this.#partial = answer?.partial;
    if (answer?.asOf === undefined || answer.asOf !== this.#asOf) this.#movedAt = Date.now();
    this.#asOf = answer?.asOf;
  }

  failed(error) { this.#error = error; }

  notices() {
    const list = [];
    const since = this.#asOf ?? this.#movedAt;
    if (this.#error && this.hasFigures) {
      list.push(notice("warn", coded(`${what(this.#error)} The figures are from ${time(since)}.`)));
    } else if (this.#error) {
      list.push(notice(this.#error.isAway || isInsightAway(this.#error) ? "warn" : "bad", coded(what(this.#error))));
    } else if (this.#isInsightAway) {
      list.push(notice("warn", this.#asOf === undefined
        ? "Insight does not answer. The outcomes of the pushes appear when it does."
        : `Insight does not answer. The outcomes of the pushes are from ${time(this.#asOf)}.`));
    } else if (this.#asOf && serverNow() - this.#asOf > stillAfter && Date.now() - this.#movedAt > stillAfter) {
      list.push(notice("", `Insight has read nothing new since ${time(this.#asOf)} (${ago(this.#asOf)}): there is no traffic, or insight is stuck.`));
    }
    if (this.#partial?.lanes?.length) {
      list.push(notice("warn",
        `A part is missing: no process answers for ${this.#partial.lanes.length === 1 ? "lane" : "lanes"} ${this.#partial.lanes.join(", ")}.`));
    }
    return list;
  }
}

export function what(error) {
  if (isInsightAway(error)) {
    return "Insight does not answer. Sends continue without it. To see figures, run `flotilla run insight`.";
  }
  if (error.status === 0) return "The gateway does not answer; the console retries.";
  if (error.status === 403) return "This key may not read this.";
  const text = error.message || String(error);
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
