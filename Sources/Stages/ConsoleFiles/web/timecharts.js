// Charts over time as SVG: stacked columns for counts, and lines for latencies and shares. Each series has a color and a
// pattern or a dash, and every figure is also in a table, so charts do not depend on color or sight.

import { h, s } from "./h.js";
import { Patterns, ticks } from "./charts.js";
import { count, time } from "./format.js";

const [width, height, left, right, top, bottom] = [330, 130, 46, 8, 8, 22];
const labels = 4;

const clock = (at) => time(at).slice(-8, -3);

/** The grid, the scale and the time axis of a chart. */
function frame({ from, to, most, format, whole }) {
  const lines = whole ? [0, whole / 2, whole] : ticks(most);
  const highest = lines.at(-1) || 1;
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - right);
  const y = (value) => height - bottom - (value / highest) * (height - bottom - top);
  const times = Array.from({ length: labels }, (_, index) => from + ((to - from) * (index + 0.5)) / labels);
  return {
    x, y,
    grid: [
      lines.map((value) => s("g", s("line.grid", { x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)))),
      times.map((at) => s("text", { x: x(at), y: height - 6, "text-anchor": "middle" }, clock(at))),
    ],
  };
}

const svg = (label, ...inside) => s("svg.chart.small", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...inside);

/**
 * Stacked columns.
 *
 * @param kinds `{name, series}`. The value of a period is its member `name`.
 */
export function stackOverTime(label, { from, to, period, kinds, items }) {
  const all = new Patterns();
  const sum = (one) => kinds.reduce((total, { name }) => total + (one[name] ?? 0), 0);
  const { x, y, grid } = frame({ from, to, most: Math.max(1, ...items.map(sum)), format: count });
  const wide = Math.max(1, (x(from + period) - x(from)) * 0.8);
  return svg(`${label}: ${count(items.reduce((total, one) => total + sum(one), 0))} in all`, all.defs, grid,
    items.map((one) => {
      let below = 0;
      return s("g", kinds.map(({ name, series }) => {
        const value = one[name] ?? 0;
        if (!value) return null;
        below += value;
        return all.rect(series, { x: x(one.at), y: y(below), width: wide, height: Math.max(1, y(below - value) - y(below)) },
          `${time(one.at)}: ${name} ${count(value)}`);
      }));
    }));
}

/** Splits points where periods are missing, so that a gap stays a gap. */
function pieces(points, period) {
  const list = [];
  for (const point of points) {
    const last = list.at(-1)?.at(-1);
    if (last && point.at - last.at <= period * 1.5) list.at(-1).push(point);
    else list.push([point]);
  }
  return list;
}

/**
 * Lines.
 *
 * @param lines `{name, kind, points: [{at, value}]}`. `kind` is the class of the line.
 * @param whole the highest value, for shares.
 */
export function linesOverTime(label, { from, to, period, lines, format, whole }) {
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const { x, y, grid } = frame({ from, to, most, format, whole });
  const newest = lines.map(({ name, points }) => `${name} ${points.length ? format(points.at(-1).value) : "unknown"}`).join(", ");
  return svg(`${label}, newest: ${newest}`, grid, lines.map(({ name, kind, points }) =>
    pieces(points, period).map((piece) => (piece.length > 1
      ? s(`polyline.line.${kind}`, { points: piece.map(({ at, value }) => `${x(at + period / 2).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }, s("title", name))
      : s(`circle.point.${kind}`, { cx: x(piece[0].at + period / 2), cy: y(piece[0].value), r: 2.5 },
        s("title", `${time(piece[0].at)}: ${name} ${format(piece[0].value)}`))))));
}

/** A legend of lines: `{name, kind, value}`. */
export const lineLegend = (items) => h("ul.legend", items.map(({ name, kind, value }) =>
  h("li", s("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, s(`polyline.line.${kind}`, { points: "1,7 13,7" })), name, value !== undefined && [" ", h("b", value)])));
