// The middle of a table: its seats around a felt, what each has played, and what is asked.

import { cardFace, moveWords, passes } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { fan } from "gs2/hand.js";
import { say, signed } from "gs2/words.js";

/** Where the seats are, from the one below on: the next to play sits to the right. */
export const PLACES = { 2: ["mine", "top"], 3: ["mine", "right", "left"], 4: ["mine", "right", "top", "left"] };

/** Return a seat's name as the page says it; of several with one name each has its seat's number. */
export function seatName(state, seat) {
  const { seats, you } = state.table;
  const { name, kind } = seats[seat];
  if (kind === "open") return say("table.open");
  const alone = seats.filter((one) => one.kind !== "open" && one.name === name).length === 1;
  const shown = alone ? name : `${name} ${seat + 1}`;
  if (seat !== you) return shown;
  return shown === "You" ? say("lobby.me") : say("table.you", { name: shown });
}

/** Return names in a row. */
export function seatNames(state, seats) {
  return seats.map((seat) => seatName(state, seat)).join(say("table.and"));
}

/**
 * Return the tricks of a round, each a list of plays.
 * @param {{seat: number, move: any[], lead: boolean}[]} plays
 */
export function tricks(plays) {
  const found = [];
  for (const play of plays) {
    if (play.lead || found.length === 0) found.push([]);
    found[found.length - 1].push(play);
  }
  return found;
}

/** Return each seat's last move in a trick. */
export function lastMoves(trick, seats = 4) {
  const moves = Array(seats).fill(null);
  for (const { seat, move } of trick ?? []) moves[seat] = move;
  return moves;
}

/** Return the first letter of a name; an emoji is one. */
function initialOf(name) {
  const [first = "?"] = (name ?? "").trim();
  return first.toUpperCase();
}

/** Return a number of points or levels with its sign. */
export function pointsText(value) {
  return Math.abs(value) < 0.005 ? "0" : signed(value, Number.isInteger(value) ? 0 : 2);
}

/** Return whether nothing is asked of anybody before the next round. */
export function between(state) {
  return state.waiting !== null || state.round.over;
}

function leftWords(left, over) {
  if (left === 0) return say("games.out");
  return left === 1 && !over ? say("games.card") : say("table.cards", { n: left });
}

function plate(state, seat, { face, join }) {
  const { table, round, turn } = state;
  const sitter = table.seats[seat];
  const { side, mark, place, notes = [] } = face.plate(state, seat);
  const acts = turn.seats.includes(seat) && !between(state);
  const away = sitter.kind === "person" && !sitter.connected;
  const left = round.rest?.[seat];
  const classes = ["plate", side, acts && "acts", away && "away", left === 1 && !round.over && "last-card"];
  const badge = (text) => h("span", { class: "role" }, text);
  return h("div", { class: classes.filter(Boolean).join(" ") },
    h("span", { class: "avatar", "aria-hidden": "true" }, mark ?? initialOf(sitter.name)),
    h("span", { class: "who" },
      h("span", { class: "name-row" },
        h("span", { class: "name", title: sitter.name }, seatName(state, seat)),
        sitter.score !== undefined && h("span", { class: "score", title: say("games.score") }, h("span", { class: "visually-hidden" }, say("games.score"), " "), pointsText(sitter.score))),
      h("span", { class: "rest" },
        place && h("span", { class: "place" }, place),
        !place && left !== undefined && h("span", { class: "cards-left" }, left > 0 && h("span", { class: "mini-back", "aria-hidden": "true" }), " ", leftWords(left, round.over)),
        notes,
        away && badge(say("table.away")),
        acts && h("span", { class: "acts-mark" }, sitter.kind === "agent" ? say("table.thinking") : say("table.turn")))),
    sitter.kind === "open" && table.you === null && h("button", { type: "button", class: "join", on: { click: () => join(seat) } }, say("table.join")));
}

function played(move, { best, fresh, face, round }) {
  if (move === null) return h("div", { class: "played empty" });
  if (passes(move)) return h("div", { class: "played pass" }, h("span", {}, say("move.PASS")));
  const classes = ["played", best && "best", face.bombs.includes(move[0]) && "bomb", fresh && "fresh"];
  return h("div", { class: classes.filter(Boolean).join(" "), role: "group", "aria-label": moveWords(move) }, fan(face.laid(move[2], round), (card) => face.isWild(card, round)));
}

function openHand(cards, state, seat, face) {
  return h("div", { class: "open-hand", role: "group", "aria-label": say("table.hand.of", { name: seatName(state, seat) }) },
    face.groups(cards, state.round, "rank").flat().map((card) => cardFace(card, { small: true, wild: face.isWild(card, state.round) })));
}

/** Return what is asked of whom. */
export function request(state, face) {
  const { table, turn } = state;
  if (between(state) || (turn.you === null && turn.seats.length === 0)) return "";
  const own = face.request(state);
  if (own) return own;
  if (turn.you === null) {
    if (turn.seats.some((seat) => table.seats[seat].kind === "open")) return say("table.waits.open");
    return say("table.waits", { names: seatNames(state, turn.seats) });
  }
  if (turn.you.moves !== null) return say("games.yours");
  if (state.round.trick) return say("games.yours"); // of a game without tricks
  return state.round.greater ? say("table.yours", { move: moveWords(state.round.greater.move) }) : say("table.lead");
}

/**
 * Return the felt.
 * @param {any} state as the server sends it
 * @param {{face: any, join: (seat: number) => void}} act
 * @param {number | null} fresh seat whose move is new to the viewer
 */
export function felt(state, act, fresh = null) {
  const { face } = act;
  const { round, table } = state;
  const n = table.seats.length;
  const { greater, plays } = round;
  const moves = round.trick ?? lastMoves(tricks(plays).at(-1), n);
  const past = plays.length > 0 && !round.trick && greater === null && !round.over;
  const seats = PLACES[n].map((place, i) => {
    const seat = ((table.you ?? 0) + i) % n;
    const hand = round.hands?.[seat];
    const shown = hand && hand.length > 0 && (seat !== table.you || round.over);
    const gain = round.over && round.points ? round.points[seat] : null;
    return h("section", { class: `seat ${place}`, "aria-label": seatName(state, seat) },
      plate(state, seat, act),
      gain !== null && h("span", { class: `gain ${gain > 0 ? "plus" : gain < 0 ? "minus" : ""}` }, pointsText(gain)),
      shown && openHand(hand, state, seat, face),
      round.rest && (face.before?.(state, seat) ?? played(moves[seat], { best: !past && seat === greater?.seat, fresh: seat === fresh, face, round })));
  });
  return h("div", { class: `felt seats-${n}${past ? " past" : ""}${round.over && round.points ? " over" : ""}` },
    seats,
    h("div", { class: "center" },
      face.above(state),
      h("p", { class: `request${state.turn.you && !between(state) ? " yours" : ""}` }, request(state, face)),
      face.below?.(state)));
}
