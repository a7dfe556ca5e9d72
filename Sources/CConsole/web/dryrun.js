// A send that is tried out: it walks as the real one would, and its counts come when the lanes are done.

import { get, query, segment } from "./api.js";
import { poll } from "./poll.js";

const secondsMax = 60;

export class DryRun {
  progress = null;
  error = null;
  #stop;
  #began = Date.now();

  /** @param changed called when there is something new to show. */
  constructor(accepted, changed) {
    this.accepted = accepted;
    this.#stop = poll((signal) => get(query(`/v1/sends/${segment(accepted.sendId)}`, { at: accepted.acceptedAt }), signal),
      (progress) => {
        this.progress = progress;
        this.error = null;
        if (progress.isComplete) this.stop();
        else if (Date.now() - this.#began > secondsMax * 1000) {
          this.error = new Error(`the lanes have not said all within ${secondsMax} s; is fan-out running?`);
          this.stop();
        }
        changed();
      }, (error) => {
        // It is found when it has been stored everywhere.
        if (error.status === 404 && Date.now() - this.#began < 10_000) return;
        this.error = error;
        changed();
      });
  }

  stop() { this.#stop(); }
}
