// Small plots in SVG, drawn at the width they have.
import { clear, h, svg, tableHead } from "gs2/dom.js";
import { say } from "gs2/words.js";
import { plain, signed } from "gs2/explore-words.js";

/** Return an element that `draw(width)` fills, anew whenever its width changes. */
export function fitted(draw, attributes = {}) {
  const box = h("div", attributes);
  let last = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.round(box.clientWidth);
    if (!box.isConnected) observer.disconnect();
    else if (width > 0 && width !== last) {
      last = width;
      clear(box, draw(width));
    }
  });
  observer.observe(box);
  return box;
}

/** Return a part of the page with a title. */
export function panel(title, ...children) {
  return h("section", { class: "panel x-panel" }, h("h2", {}, title), children);
}

/** Return one or two bars, hollow before and filled after, for numbers in [0, 1]. */
export function pair(before, after) {
  const bar = (share, name) => h("span", { class: `x-bar ${name}` }, h("i", { style: { width: `${100 * Math.max(0, Math.min(1, share || 0))}%` } }));
  return h("span", { class: "x-pair", "aria-hidden": "true" }, bar(before, "x-before"), bar(after, "x-after"));
}

/** Return a legend of the two bars. */
export function legend() {
  const key = (name, text) => h("span", { class: "x-key" }, h("span", { class: `x-bar ${name}` }, h("i", { style: { width: "100%" } })), text);
  return h("p", { class: "x-legend quiet" }, key("x-before", say("x.blueprint")), key("x-after", say("x.refined")));
}

/** Return a legend of hollow and filled dots. */
export function dotLegend() {
  const key = (name, text) => h("span", { class: "x-key" }, h("i", { class: `x-spot ${name}`, "aria-hidden": "true" }), text);
  return h("p", { class: "x-legend quiet" }, key("x-out", say("x.before")), key("x-in", say("x.after")));
}

/** Return round numbers from low to high, some `most` of them. */
export function ticks(low, high, most = 6) {
  const span = high - low || 1;
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * span; at += 1) found.push(at * step);
  return { at: found, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** Return low and high with some room beside them. */
function room(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const space = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - space, high + space];
}

function axis(low, high, x, height, label, width) {
  const { at, digits } = ticks(low, high, width < 480 ? 4 : 8);
  return svg(
    "g", { class: "x-axis" },
    at.map((value) => [
      svg("line", { x1: x(value), x2: x(value), y1: 4, y2: height - 34, class: value === 0 ? "x-zero" : "x-grid" }),
      svg("text", { x: x(value), y: height - 20, "text-anchor": "middle" }, plain(value, digits).replace("-", "−")),
    ]),
    svg("text", { x: width / 2, y: height - 4, "text-anchor": "middle", class: "x-label" }, label),
  );
}

/**
 * Return the alternative values of histories as dots: filled where kept.
 * @param {Array} rows histories. @param {(row|null) => void} point told what is pointed at.
 */
export function dots(rows, point) {
  const widest = Math.max(...rows.map((row) => row.reach), 1e-12);
  return fitted((width) => {
    const [low, high] = room(rows.map((row) => row.alternative));
    const x = (value) => 14 + ((value - low) / (high - low)) * (width - 28);
    const radius = (row) => 3 + 6 * Math.sqrt(row.reach / widest);
    const placed = [];
    // Dots that would lie on one another stand in columns; the likeliest come first, at the bottom.
    const order = rows.map((row, index) => index).sort((a, b) => rows[b].reach - rows[a].reach);
    for (const index of order) {
      const r = radius(rows[index]);
      const cx = x(rows[index].alternative);
      let up = r;
      for (let tries = 0; tries < 400; tries += 1) {
        const hit = placed.find((dot) => (dot.cx - cx) ** 2 + (dot.up - up) ** 2 < (dot.r + r + 1) ** 2);
        if (!hit) break;
        up = hit.up + Math.sqrt(Math.max(1, (hit.r + r + 1) ** 2 - (hit.cx - cx) ** 2)) + 0.01;
      }
      placed.push({ index, cx, up, r });
    }
    const top = Math.min(420, Math.max(56, ...placed.map((dot) => dot.up + dot.r + 6)));
    const height = top + 40;
    const marks = placed.map(({ index, cx, up, r }) => {
      const row = rows[index];
      return svg(
        "circle",
        {
          cx, cy: Math.max(r, top - up), r, class: row.kept ? (row.generated ? "x-dot x-in x-gen" : "x-dot x-in") : "x-dot x-out",
          on: { pointerenter: () => point(index), pointerleave: () => point(null) },
        },
        svg("title", {}, `${row.history}: ${signed(row.alternative)}`),
      );
    });
    const told = `${say("x.alternative")}: ${signed(Math.min(...rows.map((row) => row.alternative)))} … ${signed(Math.max(...rows.map((row) => row.alternative)))}`;
    return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, axis(low, high, x, height, say("x.alternative"), width), marks);
  }, { class: "x-plot" });
}

/** Return a bar from zero for each row: {label, value, title}. */
export function diverging(rows) {
  const values = rows.map((row) => row.value);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const span = high - low || 1;
  return h(
    "table", { class: "x-table x-diverging" },
    tableHead([say("x.infoset"), say("x.alternative"), say("x.solved"), say("x.margin"), null]),
    h("tbody", {}, rows.map((row) => h(
      "tr", {},
      h("th", { scope: "row", lang: "en" }, row.label),
      h("td", { class: "number", "data-label": say("x.alternative") }, signed(row.alternative)),
      h("td", { class: "number", "data-label": say("x.solved") }, row.solved === null ? say("x.notIn") : signed(row.solved)),
      h("td", { class: "number", "data-label": say("x.margin") }, row.solved === null ? "–" : signed(row.value)),
      h("td", { class: "x-cell" }, row.solved === null ? null : h("span", { class: "x-track", "aria-hidden": "true" },
        h("i", { class: row.value < 0 ? "x-loss" : "x-gain", style: { left: `${(100 * (Math.min(0, row.value) - low)) / span}%`, width: `${(100 * Math.abs(row.value)) / span}%` } }),
        h("b", { style: { left: `${(-100 * low) / span}%` } }))),
    ))),
  );
}

/** Return two dots on a line for each row: {label, before, after}; less is better. */
export function dumbbells(rows) {
  return fitted((width) => {
    const values = rows.flatMap((row) => [row.before, row.after]);
    const [low, high] = room([0, ...values]);
    const x = (value) => 10 + ((value - low) / (high - low)) * (width - 20);
    const step = 46;
    const height = rows.length * step + 40;
    return svg(
      "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": rows.map((row) => `${row.label}: ${signed(row.before)} → ${signed(row.after)}`).join("; ") },
      axis(low, high, x, height, "", width),
      rows.map((row, index) => {
        const y = index * step + 32;
        return svg(
          "g", {},
          svg("text", { x: 10, y: y - 12, class: "x-name" }, `${row.label}: ${signed(row.before)} → ${signed(row.after)}`),
          svg("line", { x1: x(row.before), x2: x(row.after), y1: y, y2: y, class: "x-between" }),
          svg("circle", { cx: x(row.before), cy: y, r: 6, class: "x-dot x-out" }),
          svg("circle", { cx: x(row.after), cy: y, r: 6, class: "x-dot x-in" }),
        );
      }),
    );
  }, { class: "x-plot" });
}

/** Return the time of each stage as one bar of parts, and the numbers. */
export function stages(seconds) {
  const parts = Object.entries(seconds).filter(([, value]) => value > 0);
  const total = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
  return [
    h("div", { class: "x-stages", "aria-hidden": "true" }, parts.map(([name, value], index) => h("i", { class: `x-stage${index % 7}`, title: `${name}: ${(1000 * value).toFixed(1)} ms`, style: { "flex-grow": String(value / total) } }))),
    h("ul", { class: "x-inline" }, parts.map(([name, value], index) => h("li", {}, h("span", { class: `x-swatch x-stage${index % 7}`, "aria-hidden": "true" }), h("span", { lang: "en" }, name), ` ${(1000 * value).toFixed(1)}`))),
  ];
}

/** Return a gain with its standard deviation on a line from low to high. */
export function interval(gain, error, low, high) {
  const at = (value) => `${(100 * (Math.max(low, Math.min(high, value)) - low)) / (high - low || 1)}%`;
  const size = `${(100 * (Math.min(high, gain + error) - Math.max(low, gain - error))) / (high - low || 1)}%`;
  return h("span", { class: "x-track", "aria-hidden": "true" }, h("b", { style: { left: at(0) } }), h("i", { class: "x-span", style: { left: at(gain - error), width: size } }), h("em", { style: { left: at(gain) } }));
}

