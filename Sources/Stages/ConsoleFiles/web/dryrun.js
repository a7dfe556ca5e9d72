// A dry run of a send. It visits the same recipients as the real send and counts them.

import { get, query, segment } from "./api.js";
import { poll } from "./poll.js";

const secondsMax = 60;

export class DryRun {
  progress = null;
  error = null;
  #stop;
  #began = Date.now();

  /** @param changed called when the counts have changed. */
  constructor(accepted, changed) {
    this.accepted = accepted;
    this.#stop = poll((signal) => get(query(`/v1/sends/${segment(accepted.sendId)}`, { at: accepted.acceptedAt }), signal),
      (progress) => {
        this.progress = progress;
        this.error = null;
        if (progress.isComplete) this.stop();
        else if (Date.now() - this.#began > secondsMax * 1000) {
          this.error = new Error(`not all lanes have answered within ${secondsMax} s; check that the fan-out stage is running`);
          this.stop();
        }
        changed();
      }, (error) => {
        // A send can be unknown for a moment, until its record can be read everywhere.
        if (error.status === 404 && Date.now() - this.#began < 10_000) return;
        this.error = error;
        changed();
      });
  }

  stop() { this.#stop(); }
}
