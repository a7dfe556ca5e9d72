// The page that composes a send, tries it out and sends it.

import { show } from "./patch.js";
import { coded, head, notice } from "./parts.js";
import { what } from "./away.js";
import { Composer } from "./composer.js";

const retryMilliseconds = 2000;

/** Opens the form. While the gateway does not answer, it tries again. */
function open(composer) {
  composer.begin().catch((error) => {
    if (composer.signal.signal.aborted) return;
    show(composer.place, head("Compose"), notice(error.isAway ? "warn" : "bad", coded(what(error))));
    if (error.isAway) setTimeout(() => { if (!composer.signal.signal.aborted) open(composer); }, retryMilliseconds);
  });
}

export default {
  title: "Compose",
  role: "send",
  show(place, { asked }) {
    const composer = new Composer(place, asked);
    open(composer);
    return () => composer.stop();
  },
};
