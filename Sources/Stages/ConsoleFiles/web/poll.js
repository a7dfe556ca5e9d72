// Polls while the page is visible: never before the last answer arrived, at most once a second, and less
// often while the server does not answer.

const shortest = 1000;
const longestWhenAway = 15_000;

/**
 * @param ask called with a signal; returns the answer for `take`.
 * @param take called with the answer.
 * @param fail called with the error. Polling continues.
 * @param least the least pause between two polls. A short question for a reader who waits may ask more often.
 * @returns a function that stops the polling. Its `now()` polls at once.
 */
export function poll(ask, take, fail, milliseconds = shortest, least = shortest) {
  const end = new AbortController();
  let timer = null;
  let isAsking = false;
  let failures = 0;

  const later = () => {
    clearTimeout(timer);
    if (end.signal.aborted || document.hidden) return;
    const pause = Math.max(least, milliseconds) * 2 ** Math.min(failures, 4);
    timer = setTimeout(round, Math.min(pause, Math.max(longestWhenAway, milliseconds)));
  };

  async function round() {
    if (isAsking || end.signal.aborted) return;
    isAsking = true;
    try {
      const answer = await ask(end.signal);
      if (end.signal.aborted) return;
      failures = 0;
      take(answer);
    } catch (error) {
      if (end.signal.aborted) return;
      failures += 1;
      fail(error);
      // The session has ended or the key may not do this. Another try would get the same answer.
      if (error.status === 401 || error.status === 403) return end.abort();
    } finally {
      isAsking = false;
    }
    later();
  }

  const seen = () => (document.hidden ? clearTimeout(timer) : round());
  document.addEventListener("visibilitychange", seen);
  end.signal.addEventListener("abort", () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  });
  round();
  const stop = () => end.abort();
  stop.now = () => { clearTimeout(timer); round(); };
  return stop;
}
