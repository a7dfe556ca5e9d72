// Charts as SVG in the page. Each series has a color and a pattern, and every figure is also present as text,
// so charts do not depend on color or sight.

import { h, s } from "./h.js";
import { count, dayOf, share, time } from "./format.js";

let drawings = 0;

/** The pattern over each series' color. */
const patterns = [
  null,
  (id) => s("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { width: 2, height: 6, fill: "var(--sheet)", "fill-opacity": 0.75 })),
  (id) => s("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse" },
    s("circle", { cx: 2.5, cy: 2.5, r: 1.2, fill: "var(--sheet)" })),
  (id) => s("pattern", { id, width: 4, height: 4, patternUnits: "userSpaceOnUse" },
    s("rect", { width: 4, height: 1.4, fill: "var(--sheet)", "fill-opacity": 0.8 })),
  (id) => s("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" },
    s("rect", { width: 3.5, height: 7, fill: "var(--sheet)", "fill-opacity": 0.6 })),
  (id) => s("pattern", { id, width: 4, height: 4, patternUnits: "userSpaceOnUse" },
    s("rect", { width: 1.4, height: 4, fill: "var(--sheet)", "fill-opacity": 0.8 })),
];

/** The patterns of one drawing. */
export class Patterns {
  #prefix = `p${(drawings += 1)}-`;
  defs = s("defs", patterns.map((make, index) => make && make(this.#prefix + index)));

  /** Draws a bar of a series. */
  rect(series, attributes, title) {
    const kind = series % patterns.length;
    return s("g",
      s(`rect.s${kind + 1}.mark`, attributes, title && s("title", title)),
      patterns[kind] && s("rect", { ...attributes, fill: `url(#${this.#prefix}${kind})`, "pointer-events": "none" }));
  }
}

const key = (series) => {
  const all = new Patterns();
  return s("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, all.defs,
    series === undefined
      ? s("rect.track", { x: 1, y: 1, width: 12, height: 12, rx: 2 })
      : all.rect(series, { x: 1, y: 1, width: 12, height: 12, rx: 2 }));
};

/** A legend of `{name, value, series}`. An item without a series stands for the empty part of a bar. */
export const legend = (items) =>
  h("ul.legend", items.map(({ name, value, series }) =>
    h("li", key(series), name, value !== undefined && " ", value !== undefined && h("b", count(value)))));

/** One bar with parts `{name, value, series}`. The rest of `whole` stays empty. */
export function bar(label, parts, whole, says) {
  const all = new Patterns();
  const total = Math.max(whole, 1);
  let at = 0;
  const told = parts.map(({ name, value }) => `${name}: ${count(value)}`).join(", ");
  return h("div.bar",
    says && h("div.says", says),
    s("svg", { viewBox: "0 0 1000 12", preserveAspectRatio: "none", role: "img", "aria-label": `${label}: ${told}` },
      all.defs,
      s("rect.track", { width: 1000, height: 12 }),
      parts.map(({ name, value, series }) => {
        const width = Math.min(1000 - at, (1000 * value) / total);
        const x = at;
        at += width;
        return value > 0 && all.rect(series, { x, y: 0, width: Math.max(width, 2), height: 12 }, `${name}: ${count(value)}`);
      })));
}

/** A funnel of steps `{name, value, note}`. */
export function funnel(steps) {
  const widest = Math.max(1, ...steps.map(({ value }) => value ?? 0));
  return h("div.funnel", { role: "list" }, steps.map(({ name, value, note }, index) => {
    const before = index ? steps[index - 1].value : undefined;
    return h("div.step", { role: "listitem" },
      h("span", name),
      s("svg", { viewBox: "0 0 1000 22", preserveAspectRatio: "none", "aria-hidden": "true" },
        s("rect.track", { width: 1000, height: 22 }),
        value > 0 && s("rect.s1", { width: Math.max(4, (1000 * value) / widest), height: 22 })),
      h("span", count(value),
        h("small", note ?? (before > 0 && value !== undefined ? `${share(value / before)} of ${steps[index - 1].name.toLowerCase()}` : ""))));
  }));
}

/** The values of the lines of a grid, from 0 to at least `most`. */
export function ticks(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? power;
  const list = [];
  for (let value = 0; value <= most + step * 0.999; value += step) list.push(value);
  return list;
}

/**
 * Stacked columns over time.
 *
 * @param buckets `{at, parts: [value…]}` in order. Each has as many parts as there are kinds.
 * @param kinds `{name, series}` of each part.
 */
export function columns(label, buckets, kinds, isByDay) {
  const [width, height, left, bottom, top] = [960, 230, 46, 22, 8];
  const all = new Patterns();
  const most = Math.max(1, ...buckets.map(({ parts }) => parts.reduce((sum, value) => sum + value, 0)));
  const lines = ticks(most);
  const scale = (height - bottom - top) / lines.at(-1);
  const step = (width - left) / Math.max(1, buckets.length);
  // A small number of columns must not become too wide.
  const wide = Math.min(step * 0.72, 72);
  const every = Math.max(1, Math.ceil(buckets.length / 10));
  const sign = (at) => (isByDay ? dayOf(at) : time(at).slice(-8, -3));
  return h("figure.scroll", { tabindex: "0", role: "region", "aria-label": label },
    s("svg.chart", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, all.defs,
      lines.map((value) => {
        const y = height - bottom - value * scale;
        return s("g", s("line.grid", { x1: left, x2: width, y1: y, y2: y }),
          s("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, count(value)));
      }),
      buckets.map(({ at, parts }, index) => {
        let y = height - bottom;
        const x = left + index * step + (step - wide) / 2;
        return s("g",
          parts.map((value, part) => {
            if (!value) return null;
            y -= value * scale;
            return all.rect(kinds[part].series, { x, y, width: wide, height: Math.max(1, value * scale) },
              `${time(at)}: ${kinds[part].name} ${count(value)}`);
          }),
          index % every === 0 && s("text", { x: x + wide / 2, y: height - 6, "text-anchor": "middle" }, sign(at)));
      })));
}

/** A line of the last values. */
export function line(label, values) {
  const most = Math.max(1, ...values);
  const step = 120 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(26 - (24 * value) / most).toFixed(1)}`);
  return s("svg", { viewBox: "0 0 120 28", width: 120, height: 28, role: "img", "aria-label": label },
    s("polyline", { points: points.join(" "), fill: "none", stroke: "var(--c1)", "stroke-width": 1.6,
      "stroke-linejoin": "round" }));
}
