// What a page says when its figures do not come, or stand still.

import { coded, notice } from "./parts.js";
import { ago, time } from "./format.js";

const stillAfter = 20_000;

/** Whether insight, rather than what was asked for, is missing. */
const isInsightAway = (error) => error.code === "insight_away";

/**
 * Remembers whether figures still move.
 *
 * `took` hears of each answer, `failed` of each failure; `notices` says what a person must know.
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
    // What stood before stands on.
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
      list.push(notice("warn", coded(`${what(this.#error)} These figures stand still since ${time(since)}.`)));
    } else if (this.#error) {
      list.push(notice(this.#error.isAway || isInsightAway(this.#error) ? "warn" : "bad", coded(what(this.#error))));
    } else if (this.#isInsightAway) {
      list.push(notice("warn", this.#asOf === undefined
        ? "Insight does not answer: what became of the pushes is not shown until it does."
        : `Insight does not answer: what became of the pushes stands still since ${time(this.#asOf)}.`));
    } else if (this.#asOf && Date.now() - this.#asOf > stillAfter && Date.now() - this.#movedAt > stillAfter) {
      list.push(notice("", `Nothing new was read since ${time(this.#asOf)} (${ago(this.#asOf)}): it is quiet, or insight stands still.`));
    }
    if (this.#partial?.lanes?.length) {
      list.push(notice("warn",
        `Part of it is missing: nobody answers for ${this.#partial.lanes.length === 1 ? "lane" : "lanes"} ${this.#partial.lanes.join(", ")}.`));
    }
    return list;
  }
}

export function what(error) {
  if (isInsightAway(error)) {
    return "Insight does not answer. Sends go on without it; figures come back when a process runs `flotilla run insight`.";
  }
  if (error.status === 0) return "The gateway does not answer; it is asked again.";
  if (error.status === 403) return "This key may not see that.";
  const text = error.message || String(error);
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
