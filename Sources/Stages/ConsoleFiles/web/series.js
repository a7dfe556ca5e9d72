// The figures of an app over time, from insight: `GET /v1/series`.

/** The pushes per second over the last full minute. Undefined before the first answer. */
export function pushRate(series) {
  if (!series) return undefined;
  const end = series.to - series.periodMilliseconds;
  const periods = series.items.filter(({ at }) => at >= end - 60_000 && at < end);
  return periods.reduce((sum, period) => sum + pushed(period), 0) / 60;
}

const pushed = ({ accepted = 0, rejected = 0, unknown = 0 }) => accepted + rejected + unknown;

/** The answered pushes of each period of the last minutes, with zeros for periods without pushes. */
export function recentCounts(series, periods = 30) {
  if (!series) return [];
  const counts = new Map(series.items.map((one) => [one.at, pushed(one)]));
  const end = series.to - series.periodMilliseconds;
  return Array.from({ length: periods }, (_, index) => counts.get(end - (periods - index) * series.periodMilliseconds) ?? 0);
}
