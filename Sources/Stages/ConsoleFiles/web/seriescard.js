// The charts of the page Now: throughput, latency and freshness of the last 15 minutes or 24 hours.

import { h } from "./h.js";
import { get } from "./api.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, choice, table } from "./parts.js";
import { legend } from "./charts.js";
import { lineLegend, linesOverTime, stackOverTime } from "./timecharts.js";
import { count, share, span, time } from "./format.js";
import { outcomeNames, outcomeSeries } from "./outcome.js";

const ranges = { "15m": ["The last 15 minutes", 10_000], "24h": ["The last 24 hours", 60_000] };
const tableRows = 30;
const kinds = outcomeNames.map((name) => ({ name, series: outcomeSeries[name] }));
const sumOf = (items, name) => items.reduce((sum, one) => sum + (one[name] ?? 0), 0);

/** The choice of the time and the charts. Its `took` shows an answer for the last 15 minutes that the page has anyway. */
export class SeriesCard {
  element = h("div.stack");
  #range = "15m"; #answer = null; #stop = () => {}; #charts = h("div.charts");

  constructor() {
    this.element.append(choice("Charts", "series-range", Object.entries(ranges).map(([key, [text]]) => [key, text]), this.#range, (range) => {
      this.#range = range;
      this.#answer = null;
      this.#draw();
      this.#watch();
    }), this.#charts);
  }

  /** Shows the answer of the page's own poll. */
  took(series) {
    if (this.#range !== "15m" || !series) return;
    this.#answer = series;
    this.#draw();
  }

  /** The page reads the last 15 minutes by itself. */
  #watch() {
    this.#stop();
    this.#stop = () => {};
    if (this.#range === "15m") return;
    this.#stop = poll((signal) => get(`/v1/series?range=${this.#range}`, signal), (answer) => { this.#answer = answer; this.#draw(); },
      () => { /* The page itself says that insight does not answer. */ }, ranges[this.#range][1]);
  }

  stop() { this.#stop(); }

  #draw() {
    const answer = this.#answer;
    if (!answer) return show(this.#charts, h("p.note", { role: "status" }, "Looking …"));
    const { from, to, periodMilliseconds: period, items } = answer;
    const lines = [["p50", "half within", "median"], ["p99", "99 % within", "tail"]].map(([name, words, kind]) => (
      { name: words, kind, points: items.filter((one) => one[name] !== undefined).map((one) => ({ at: one.at, value: one[name] })) }));
    const fresh = answer.freshness.filter((one) => one.share !== undefined).map((one) => ({ at: one.at, value: one.share }));
    const newest = (points, format) => (points.length ? format(points.at(-1).value) : "–");
    show(this.#charts,
      card("Pushes", `one column for each ${span(period)}`, h("div.in",
        stackOverTime("Pushes over time", { from, to, period, kinds, items }),
        legend(kinds.map(({ name, series }) => ({ name, series, value: sumOf(items, name) })).filter(({ value }) => value > 0)))),
      card("From accepted to answered", "by APNs", h("div.in",
        linesOverTime("Time from accepted to answered", { from, to, period, lines, format: span }),
        lineLegend(lines.map(({ name, kind, points }) => ({ name, kind, value: newest(points, span) }))))),
      card("Phones on the newest state", "share of running activities, once a minute", h("div.in",
        linesOverTime("Share of phones on the newest state", { from, to, period: answer.freshnessMilliseconds, whole: 1, format: share,
          lines: [{ name: "on the newest state", kind: "median", points: fresh }] }),
        lineLegend([{ name: "on the newest state", kind: "median", value: newest(fresh, share) }]))),
      this.#figures(answer));
  }

  #figures({ items }) {
    const rows = items.slice(-tableRows).reverse();
    return rows.length > 0 && h("details", h("summary", "The newest figures as a table"), h("section.card", table("Figures over time", [
      { title: "From", kind: "time", cell: ({ at }) => time(at) },
      ...outcomeNames.map((name) => ({ title: name, kind: "number", cell: (one) => count(one[name] ?? 0) })),
      { title: "Half within", kind: "number", cell: ({ p50 }) => span(p50) },
      { title: "99 % within", kind: "number", cell: ({ p99 }) => span(p99) },
    ], rows, ({ at }) => String(at))));
  }
}
