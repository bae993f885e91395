// The middle of a table of a game: its seats, what each has played, and what is asked.

import { cardFace } from "gs2/cards.js";
import { BOMBS, playWords, sortedCards } from "gs2/climb-cards.js";
import { h } from "gs2/dom.js";
import { initialOf, lastMoves, signed, tricks } from "gs2/felt.js";
import { fan } from "gs2/hand.js";
import { toldWords } from "gs2/spoken.js";
import { say } from "gs2/words.js";

/** Where the seats are, from the own one on: the next to play sits to the right. */
const PLACES = { 2: ["mine", "top"], 3: ["mine", "right", "left"], 4: ["mine", "right", "top", "left"] };

/** Return a seat's name as the page says it. */
export function gameSeatName(state, seat) {
  const { seats, you } = state.table;
  const { name } = seats[seat];
  if (seat !== you) return name;
  return name === "You" ? say("games.you") : say("games.you.name", { name });
}

/** Return the names of all seats. */
export function gameSeatNames(state) {
  return state.table.seats.map((_, seat) => gameSeatName(state, seat));
}

/** Return what a seat is in the round: "landlord" or "farmer" in DouDiZhu, null elsewhere. */
export function roleOf(cards, seat) {
  if (cards?.kind !== "doudizhu" || cards.landlord === null) return null;
  return cards.landlord === seat ? "landlord" : "farmer";
}

function leftWords(left, over) {
  if (left === 0) return say("games.out");
  if (left === 1 && !over) return say("games.card");
  return say("games.cards", { n: left });
}

function plate(state, seat) {
  const { round, table } = state;
  const { cards } = round;
  const role = roleOf(cards, seat);
  const acts = round.turn === seat;
  const left = cards?.left[seat];
  const { name, score, kind } = table.seats[seat];
  const initial = role === "landlord" ? "♛" : initialOf(name);
  const side = role === null ? null : role === "landlord" ? "team1" : "team0";
  return h("div", { class: ["plate", side, role, acts && "acts", left === 1 && !round.over && "last-card"].filter(Boolean).join(" ") },
    h("span", { class: "avatar", "aria-hidden": "true" }, initial),
    h("span", { class: "who" },
      h("span", { class: "name-row" },
        h("span", { class: "name", title: name }, gameSeatName(state, seat)),
        h("span", { class: "score", title: say("games.score") }, h("span", { class: "visually-hidden" }, say("games.score"), " "), signed(score))),
      h("span", { class: "rest" },
        !cards && h("span", { class: "role-badge" }, `P${seat}`),
        role && h("span", { class: `role-badge ${role}` }, say(`games.role.${role}`)),
        cards && h("span", { class: "cards-left" }, left > 0 && h("span", { class: "mini-back", "aria-hidden": "true" }), " ", leftWords(left, round.over)),
        acts && h("span", { class: "acts-mark" }, kind === "agent" ? say("games.thinks") : say(cards?.kind === "doudizhu" && cards.landlord === null ? "games.calls" : "games.acts")))));
}

/** Return what lies before each seat, and whether it is of the trick before. */
function lying(cards, over) {
  const all = tricks(cards.plays.map((play) => ({ ...play, move: play })));
  const trick = all.at(-1);
  const past = !over && cards.beat === null && trick !== undefined;
  return { moves: lastMoves(trick), past };
}

function calls(cards, seat) {
  const mine = cards.calls?.filter(([who]) => who === seat) ?? [];
  return mine.length ? mine.at(-1)[1] : null;
}

function played(play, { best, fresh, suits }) {
  if (play === null) return h("div", { class: "played empty" });
  if (play.cards.length === 0) return h("div", { class: "played pass" }, h("span", {}, say("climb.pass")));
  const classes = ["played", best && "best", BOMBS.includes(play.kind) && "bomb", fresh && "fresh"];
  return h("div", { class: classes.filter(Boolean).join(" "), role: "group", "aria-label": playWords(play) }, fan(sortedCards(play.cards, suits), ""));
}

function before(state, seat, moves, options) {
  const { cards } = state.round;
  const call = cards.plays.length === 0 ? calls(cards, seat) : null;
  if (call !== null) return h("div", { class: "played pass call" }, h("span", {}, say(`games.call.${call}`)));
  return played(moves[seat], options);
}

function openHand(state, seat, cards) {
  return h("div", { class: "open-hand", role: "group", "aria-label": say("table.hand.of", { name: gameSeatName(state, seat) }) },
    sortedCards(cards, state.round.cards.suits ?? "").map((card) => cardFace(card, { small: true })));
}

/** Return how a round ended for the person, in words; null while it goes on. */
export function outcomeWords(state) {
  const { round, table } = state;
  if (!round.over) return null;
  const mine = round.points[table.you];
  const { cards } = round;
  if (cards?.kind === "doudizhu" && cards.landlord === null) return say("games.nobody");
  const side = cards?.kind === "doudizhu" ? say(`games.side.${round.points[cards.landlord] > 0 ? "landlord" : "farmers"}`) : "";
  const spring = cards?.spring ? say(`games.spring.${round.points[cards.landlord] > 0 ? "landlord" : "farmers"}`) : "";
  const result = mine > 0 ? "won" : mine < 0 ? "lost" : "even";
  return [side, spring, say(`games.${result}`, { points: signed(Math.abs(mine)).replace("+", "") })].filter(Boolean).join(" ");
}

/** Return what is asked of whom. */
export function asked(state) {
  const { round, table } = state;
  if (round.over) return "";
  const { cards } = round;
  if (round.turn !== table.you) return say("games.waits", { name: gameSeatName(state, round.turn) });
  if (!cards) return say("games.yours");
  if (cards.kind === "doudizhu" && cards.landlord === null) return say("games.yours.call");
  if (cards.opens?.length) return say("games.yours.opens", { card: playWords({ cards: cards.opens, kind: "single" }) });
  return cards.beat ? say("games.yours.beat", { move: playWords(cards.beat) }) : say("games.yours.lead");
}

/** The three cards of the landlord and what the round is worth. */
function stakes(cards) {
  if (cards.kind !== "doudizhu") return null;
  const times = 2 ** cards.bombs * (cards.spring ? 2 : 1);
  const bottom = cards.bottom ?? [null, null, null];
  return h("div", { class: "stakes" },
    h("span", { class: "bottom-cards", role: "group", "aria-label": say("games.bottom") },
      h("span", { class: "stake-word", "aria-hidden": "true" }, say("games.bottom")),
      bottom.map((card) => (card === null ? cardFace("", { back: true, small: true }) : cardFace(card, { small: true })))),
    cards.bid > 0 && h("span", { class: "stake" }, say("games.bid", { n: cards.bid })),
    cards.counts_bombs && h("span", { class: `stake times${times > 1 ? " raised" : ""}`, title: say(cards.springs ? "games.times.long.spring" : "games.times.long") }, say("games.times", { n: times })));
}

/**
 * Return the felt.
 * @param {any} state as the server sends it
 * @param {number | null} fresh seat whose move is new
 */
export function gameFelt(state, fresh = null) {
  const { round, table } = state;
  const { cards } = round;
  const n = table.seats.length;
  const { moves, past } = cards ? lying(cards, round.over) : { moves: [], past: false };
  const suits = cards?.suits ?? "";
  const seats = Array.from({ length: n }, (_, i) => {
    const seat = (table.you + i) % n;
    const shown = cards?.hands[seat];
    return h("section", { class: `seat ${PLACES[n][i]}`, "aria-label": gameSeatName(state, seat) },
      plate(state, seat),
      round.over && h("span", { class: `gain ${round.points[seat] > 0 ? "plus" : round.points[seat] < 0 ? "minus" : ""}` }, signed(round.points[seat])),
      round.over && shown?.length > 0 && openHand(state, seat, shown),
      cards && before(state, seat, moves, { best: seat === cards.beat?.seat, fresh: seat === fresh, suits }));
  });
  const outcome = outcomeWords(state);
  return h("div", { class: `felt game-felt seats-${n}${past ? " past" : ""}${round.over ? " over" : ""}` },
    seats,
    h("div", { class: "center" },
      cards && stakes(cards),
      !cards && h("p", { class: "game-words" }, wordsOf(toldWords(round.words, gameSeatNames(state)))),
      outcome && h("p", { class: "last-result", role: "status" }, outcome),
      !round.over && h("p", { class: `request${round.turn === table.you ? " yours" : ""}` }, asked(state))));
}

/** Return what a player knows, part by part. */
function wordsOf(text) {
  return text.split("|").map((part) => h("span", { class: "words-part" }, part.trim()));
}
