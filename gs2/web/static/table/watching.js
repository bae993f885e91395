// How fast agents play, and what those may do who only watch.

import { h } from "gs2/dom.js";
import { say } from "gs2/words.js";

/** Seconds between two moves at most, on the slider. */
const SLOWEST = 3;

/**
 * Return pause, step and pace.
 * @param {any} table of a state
 * @param {(message: any) => void} send
 */
export function paceTools(table, send) {
  const text = (seconds) => say("table.pace.value", { s: Number(seconds).toFixed(1) });
  const value = h("output", {}, text(table.pace));
  const slider = h("input", {
    type: "range", min: "0", max: String(SLOWEST), step: "0.1", value: String(table.pace), "aria-label": say("table.pace"),
    on: {
      input: () => { value.textContent = text(slider.value); },
      change: () => send({ type: "pace", pace: Number(slider.value), paused: table.paused }),
    },
  });
  const button = (key, act) => h("button", { type: "button", on: { click: act } }, say(key));
  return h("div", { class: "row" },
    button(table.paused ? "table.resume" : "table.pause", () => send({ type: "pace", pace: table.pace, paused: !table.paused })),
    table.paused && button("table.step", () => send({ type: "step" })),
    h("label", { class: "pace" }, slider, value));
}

/**
 * Return what a watcher may do at a table.
 * @param {any} state
 * @param {{send: (message: any) => void, next: () => void, record: string}} act record: its address
 */
export function watcherTools(state, { send, next, record }) {
  const { table, waiting } = state;
  if (table.you !== null) return [];
  const badge = h("span", { class: "badge" }, say("table.watching"));
  if (table.people) return [badge];
  const hands = say(table.open ? "table.hands.closed" : "table.hands.open");
  return [
    badge,
    waiting !== null && h("button", { type: "button", class: "primary", on: { click: next } }, say("result.next")),
    waiting === null && !state.round.over && paceTools(table, send),
    h("button", { type: "button", on: { click: () => send({ type: "open", open: !table.open }) } }, hands),
    h("a", { class: "button", href: record, download: "" }, say("table.record")),
  ];
}
