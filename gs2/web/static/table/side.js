// Beside the table: the round's moves, what has gone, how fast agents play, and dialogs.

import { cardFace, letterOf, moveWords, passes, rankText } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { seatName, tricks } from "gs2/felt.js";
import { seatLabel } from "gs2/game-faces.js";
import { say } from "gs2/words.js";

/** Seconds between two moves at most, on the slider. */
const SLOWEST = 3;

function logLine(state, { seat, move }, face, cards) {
  const side = face.plate(state, seat).side ?? "";
  return h("li", { class: `log-move ${side}` },
    h("span", { class: "log-who" }, seatName(state, seat)), " ",
    passes(move) ? h("span", { class: "quiet" }, say("move.PASS")) : cards(face.laid(move[2], state.round).map((card) => cardFace(card, { small: true, wild: face.isWild(card, state.round) }))));
}

/** Return the moves of a round, trick by trick, as a list. */
export function moveLog(state, face) {
  const { plays } = state.round;
  const head = face.logHead(state);
  if (plays.length === 0 && head.length === 0) return h("p", { class: "quiet" }, say("table.log.empty"));
  const line = (play) => logLine(state, play, face, (cards) => [
    h("span", { class: "visually-hidden" }, moveWords(play.move)),
    h("span", { class: "log-cards", "aria-hidden": "true" }, cards)]);
  return h("ol", { class: "log" }, head, tricks(plays).map((trick) => h("li", { class: "log-trick" }, h("ol", { "aria-label": say("table.log.trick") }, trick.map(line)))));
}

/**
 * Return how many cards of each rank are neither held nor played.
 * @param {Object<string, number>} deck cards of each rank
 * @param {string[]} seen cards of the own hand, and played
 * @returns {[string, number][]}
 */
export function unseen(deck, seen) {
  const left = new Map(Object.entries(deck));
  for (const card of seen) left.set(letterOf(card), left.get(letterOf(card)) - 1);
  const order = [..."RB2AKQJT9876543"].filter((rank) => left.has(rank));
  return order.map((rank) => [rank, left.get(rank)]);
}

/** Return the counter: a rank over its number; what has gone is faint. */
export function counterView(deck, seen) {
  const joker = (name, star) => h("b", { title: say(name) }, star);
  const head = (rank) => (rank === "R" ? joker("card.HR", "★") : rank === "B" ? joker("card.SB", "☆") : h("b", {}, rankText(rank)));
  return h("div", { class: "counter", role: "group", "aria-label": say("table.counter") }, unseen(deck, seen).map(([rank, n]) =>
    h("span", { class: n === 0 ? "none" : null }, head(rank), h("span", {}, String(n)))));
}

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
    button(table.paused ? "lobby.continue" : "table.pause", () => send({ type: "pace", pace: table.pace, paused: !table.paused })),
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

/**
 * Show a dialog until it is closed; return it.
 * @param {string} title
 * @param {(close: () => void) => any} content
 */
export function dialog(title, content) {
  const id = `dialog-${Math.random().toString(36).slice(2)}`;
  const box = h("dialog", { class: "dialog", "aria-labelledby": id });
  const close = () => box.close();
  box.append(h("h2", { id }, title), ...[content(close)].flat(Infinity).filter((part) => part instanceof Node));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

function closing(close) {
  return h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close"));
}

/** Show which keys do what. */
export function helpDialog() {
  const row = (keys, text) => h("tr", {}, h("th", { scope: "row" }, keys.map((key, i) => [i > 0 && " ", h("kbd", {}, key)])), h("td", {}, say(text)));
  return dialog(say("table.help"), (close) => [
    h("table", { class: "keys" }, h("tbody", {},
      row([say("key.arrows")], "help.arrows"), row([say("key.space")], "help.space"), row([say("key.enter")], "help.enter"),
      row(["P"], "help.pass"), row(["S"], "help.suggest"), row(["H"], "help.hint"), row(["U"], "help.undo"),
      row([say("key.escape")], "help.clear"), row(["O"], "help.order"), row(["L"], "help.last"), row(["N"], "help.next"), row(["?"], "help.help"),
    )),
    h("p", {}, say("help.mouse")),
    closing(close),
  ]);
}

/** Show the trick before the one in play, or the last of a round. */
export function lastTrickDialog(state, face) {
  const all = tricks(state.round.plays);
  const trick = state.round.greater !== null || state.round.trick ? all.at(-2) : all.at(-1);
  return dialog(say("table.last"), (close) => [
    trick
      ? h("ol", { class: "log" }, trick.map((play) => logLine(state, play, face, (cards) => [moveWords(play.move), " ", cards])))
      : h("p", {}, say("table.last.none")),
    closing(close),
  ]);
}

/** Show an address that could not be copied. */
export function shareDialog(url) {
  return dialog(say("table.share"), (close) => [
    h("label", {}, say("table.share.here", { url: "" }), h("input", { type: "text", readOnly: true, value: url })),
    closing(close)]);
}

/** Ask for a name; return it through `sit`. */
export function nameDialog(name, sit) {
  const field = h("input", { type: "text", maxLength: 40, value: name, required: true, autocomplete: "nickname" });
  return dialog(say("table.join"), (close) => h("form", { method: "dialog", class: "stack", on: { submit: (event) => { event.preventDefault(); close(); sit(field.value.trim()); } } },
    h("label", {}, say("lobby.name"), field),
    h("div", { class: "row" },
      h("button", { type: "submit", class: "primary" }, say("table.sit")),
      h("button", { type: "button", on: { click: close } }, say("table.cancel")))));
}

/** Ask where to sit in a new round; `deal` is told the seat. */
export function seatDialog(state, deal) {
  const { table } = state;
  const choose = (close, seat) => () => { close(); deal(seat); };
  return dialog(say("games.seats"), (close) => [
    h("p", {}, say(state.round.over ? "games.seats.over" : "games.seats.play")),
    h("div", { class: "seat-choices" }, table.seats.map((seat, i) =>
      h("button", { type: "button", class: i === table.you ? "here" : null, autofocus: i === table.you, on: { click: choose(close, i) } },
        h("b", {}, seatLabel(table.game, i)), " ", h("span", { class: "quiet" }, i === table.you ? say("games.seat.yours") : say("games.seat.swap", { name: seatName(state, i) })), state.round.landlord === i && table.game.includes("landlord=bid") ? " ♛" : null))),
    h("button", { type: "button", on: { click: close } }, say("table.cancel"))]);
}
