// A trial of a send: a dry run of exactly its body. It visits the same recipients as the send and counts them.

import { get, post, query, segment } from "./api.js";
import { poll } from "./poll.js";

const millisecondsMax = 60_000;
/** A send can be unknown for a moment, until its record can be read everywhere. */
const unknownMilliseconds = 10_000;

/** Whether two bodies are the same send. */
export const isSameBody = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class Trial {
  /** The answer to the dry run: the exact size and the warnings. */
  accepted = null;
  /** The counts so far. */
  progress = null;
  error = null;
  #stop = () => {};
  #began = Date.now();
  #isStopped = false;

  /** @param changed called when the counts have changed. */
  constructor(body, changed) {
    this.body = body;
    this.changed = changed;
  }

  /** Whether all phones are counted. */
  get isComplete() { return this.progress?.isComplete === true; }
  get isOver() { return this.isComplete || this.error !== null; }
  /** The number of phones that the send would reach, or undefined. */
  get phones() { return this.isComplete ? this.progress.expanded : undefined; }

  /** Starts the dry run. Throws the server's refusal if the body is wrong. */
  async start() {
    const { when: _, latenessMax: __, ...body } = this.body;
    this.accepted = await post("/v1/sends", { ...body, dryRun: true });
    if (this.#isStopped) return;
    const path = query(`/v1/sends/${segment(this.accepted.sendId)}`, { at: this.accepted.acceptedAt });
    this.#stop = poll((signal) => get(path, signal), (progress) => this.#took(progress), (error) => this.#failed(error), 0, 250);
  }

  #took(progress) {
    this.progress = progress;
    if (progress.isComplete) this.stop();
    else if (Date.now() - this.#began > millisecondsMax) {
      this.error = new Error("not all lanes have answered within 60 s; check that the fan-out stage is running");
      this.stop();
    }
    this.changed();
  }

  #failed(error) {
    if (error.status === 404 && Date.now() - this.#began < unknownMilliseconds) return;
    this.error = error;
    this.stop();
    this.changed();
  }

  stop() {
    this.#isStopped = true;
    this.#stop();
  }
}
