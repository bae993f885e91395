// The value of a round as a curve that can be clicked and walked along.

import { h, svg } from "gs2/dom.js";

const WIDTH = 720;
const HEIGHT = 180;
const EDGE = 8;
/** What is drawn beyond the values at the edges. */
const ROOM = 3.2 / 3;

/** Return the height of a value in the picture. top: the value at its edge. */
function yOf(value, top) {
  const most = ROOM * top;
  return HEIGHT / 2 - (Math.max(-most, Math.min(most, value)) / most) * (HEIGHT / 2 - EDGE);
}

/** Return where a move stands along the curve, 0..1. */
function shareOf(curve, at) {
  return curve.length < 2 ? 0 : at / (curve.length - 1);
}

function xOf(curve, at) {
  return EDGE + shareOf(curve, at) * (WIDTH - 2 * EDGE);
}

/** Return the area between the curve and the axis, above it (sign 1) or below (-1). */
function areaPath(curve, sign, top) {
  const points = curve.map((value, k) => `${xOf(curve, k).toFixed(1)},${yOf(sign * Math.max(0, sign * value), top).toFixed(1)}`);
  return `M${xOf(curve, 0)},${HEIGHT / 2} L${points.join(" L")} L${xOf(curve, curve.length - 1)},${HEIGHT / 2} Z`;
}

/**
 * Return the curve of a round.
 * @param {{curve: number[], marks: {play: number, verdict: string}[], at: number, label: string, text: string,
 *   top: number, go: function(number): void}} what marks: moves to look at. at: where we are. top: the value at
 *   the upper edge. go: called with where to.
 */
export function curveView({ curve, marks, at, label, text, top, go }) {
  const line = curve.map((value, k) => `${k ? "L" : "M"}${xOf(curve, k).toFixed(1)},${yOf(value, top).toFixed(1)}`).join("");
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "review-curve", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { d: areaPath(curve, 1, top), class: "review-area team0" }),
    svg("path", { d: areaPath(curve, -1, top), class: "review-area team1" }),
    [-2 / 3, 2 / 3].map((share) => svg("line", { x1: 0, x2: WIDTH, y1: yOf(share, 1), y2: yOf(share, 1), class: "review-grid" })),
    svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "review-axis" }),
    svg("path", { d: line, class: "review-line" }),
    svg("line", { x1: xOf(curve, at), x2: xOf(curve, at), y1: 0, y2: HEIGHT, class: "review-now" }),
  );
  const dots = marks.map(({ play, verdict }) =>
    h("span", {
      class: `review-dot ${verdict}`,
      style: { left: `${(100 * xOf(curve, play)) / WIDTH}%`, top: `${(100 * yOf(curve[play], top)) / HEIGHT}%` },
    }),
  );
  return h(
    "div",
    {
      class: "review-plot",
      role: "slider",
      tabIndex: 0,
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": String(curve.length - 1),
      "aria-valuenow": String(at),
      "aria-valuetext": text,
      on: {
        pointerdown: (event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const share = ((event.clientX - box.left) / box.width) * WIDTH;
          const place = Math.round(((share - EDGE) / (WIDTH - 2 * EDGE)) * (curve.length - 1));
          go(Math.max(0, Math.min(curve.length - 1, place)));
        },
      },
    },
    picture,
    dots,
    h("span", { class: "review-scale top", "aria-hidden": "true" }, `+${Number(top.toPrecision(2))}`),
    h("span", { class: "review-scale bottom", "aria-hidden": "true" }, `−${Number(top.toPrecision(2))}`),
  );
}
