// The time of the server. The clock of a laptop can be minutes wrong, and ages, problems and times for later must be right
// all the same.

/** A smaller difference can come from the way of an answer. */
const differenceMillisecondsMin = 5000;
/** An answer that took longer says too little about the time. */
const answerMillisecondsMax = 2000;
let ahead = 0;

/** Takes the `Date` of an answer. `askedAt` is `performance.now()` before the request. */
export function noteServerTime(date, askedAt) {
  const difference = Date.parse(date) - Date.now();
  if (Number.isNaN(difference) || performance.now() - askedAt > answerMillisecondsMax) return;
  ahead = Math.abs(difference) > differenceMillisecondsMin ? difference : 0;
}

/** Milliseconds since 1970, by the clock of the server. */
export const serverNow = () => Date.now() + ahead;
