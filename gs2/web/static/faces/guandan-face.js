// How GuanDan looks and what it says: levels and teams, tribute, wild cards, and the results of rounds and matches.

import { cardFace, cardsText, cardWords, isWild, kindWords, moveWords, passes, RANKS, rankText } from "gs2/cards.js";
import { h, tableHead } from "gs2/dom.js";
import { pointsText, seatName, seatNames } from "gs2/felt.js";
import { groups } from "gs2/hand.js";
import { dialog } from "gs2/side.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";

/** Two decks by rank, the highest first; B and R are the jokers. */
const TWO_DECKS = { R: 2, B: 2, ...Object.fromEntries([..."AKQJT98765432"].map((rank) => [rank, 8])) };

/** Return a hand in groups; a row of two jokers and a row of one wild card would waste the height of a phone. */
function grouped(cards, { level }, order) {
  const joker = (card) => card === "SB" || card === "HR";
  const ranks = `${RANKS.replace(level, "")}${level}`;
  return groups(cards, order, {
    suits: "SHCD",
    height: (card) => (joker(card) ? (card === "HR" ? 15 : 14) : ranks.indexOf(card[1]) + (isWild(card, level) ? 0.5 : 0)),
    apart: (card) => (joker(card) || (order === "suit" && isWild(card, level)) ? "jokers" : isWild(card, level) ? "wild" : null),
  });
}

/** Return what a wild card stands for, for people: "H5 as C6" is "♥5 = ♣6". */
function wildText(text) {
  return cardsText(text).replace(/ as T\b/g, " as 10").replaceAll(" as ", " = ");
}

/**
 * Return why cards cannot be played, in words.
 * @param {{code: string, need?: any, beat?: any}} why
 * @param {string} [stage]
 */
export function whyWords(why, stage) {
  const values = { need: why.need, beat: "" };
  if (why.code === "wrong_type") values.need = kindWords(why.need);
  if (Array.isArray(why.beat)) values.beat = moveWords(why.beat);
  const special = [`why.${why.code}.${why.need}`, `why.${why.code}.${stage}`].find((key) => say(key) !== key);
  return say(special ?? `why.${why.code}`, values);
}

/** Return what a place in the order is called; `caught`: of a round that ended with two seats holding cards. */
function placeWords(place, caught) {
  return say(caught && place >= 2 ? "table.place.caught" : `table.place.${place}`);
}

/** Return a team's name: by colour, or from the seat of whoever sits here. */
function teamName({ table: { you } }, team) {
  return you === null ? say(`table.team${team}`) : say(you % 2 === team ? "table.us" : "table.them");
}

function plate({ table, round }, seat) {
  const place = round.order.indexOf(seat);
  const caught = place >= 2 && round.rest[round.order[2]] > 0;
  const partner = table.you !== null && seat !== table.you && (seat - table.you) % 2 === 0;
  return {
    side: `team${seat % 2}`,
    mark: place >= 0 && !caught ? String(place + 1) : undefined,
    place: place >= 0 && placeWords(place, caught),
    notes: partner && h("span", { class: "role" }, say("table.partner")),
  };
}

/** Return who led in the place of a seat that is out and won the last trick; null where nobody does. */
function givesTheWind({ round, turn }) {
  const last = round.plays.findLast((play) => !passes(play.move));
  const leads = round.phase === "play" && round.greater === null && last !== undefined;
  return leads && !turn.seats.includes(last.seat) ? last.seat : null;
}

/** Return what is asked in a tribute, or of who leads for another; "" where it is what any game asks. */
function request(state) {
  const { turn, round } = state;
  const stage = turn.you?.stage ?? (round.phase === "over" ? "play" : round.phase);
  const open = turn.seats.some((seat) => state.table.seats[seat].kind === "open");
  if (turn.you === null && open) return "";
  const names = seatNames(state, turn.seats);
  if (stage !== "play") return turn.you === null ? say(`table.waits.${stage}`, { names }) : say(`table.${stage}`);
  const wind = givesTheWind(state);
  if (wind === null) return "";
  const name = seatName(state, wind);
  return turn.you === null ? say("table.waits.wind", { names, name }) : say("table.lead.wind", { name });
}

/** Return tributes and returned cards in as little room as they need: who gave which card to whom. */
function gifts(state) {
  const { tributes, returns, anti, level } = state.round;
  const given = ([from, to, card], i) =>
    [i > 0 && ", ", `${seatName(state, from)} → ${seatName(state, to)} `, cardFace(card, { small: true, wild: isWild(card, level) })];
  return [
    anti.length > 0 && h("li", {}, say("table.log.anti", { names: seatNames(state, anti) })),
    tributes.length > 0 && h("li", {}, say("table.tributes"), " ", tributes.map(given)),
    returns.length > 0 && h("li", {}, say("table.returns"), " ", returns.map(given)),
  ].filter(Boolean);
}

/** Return tributes and returned cards as lines. */
function transfers(state) {
  const { tributes, returns, anti } = state.round;
  const line = (key) => ([from, to, card]) =>
    h("li", {}, say(key, { from: seatName(state, from), to: seatName(state, to), card: cardWords(card) }), " ",
      cardFace(card, { small: true, wild: isWild(card, state.round.level) }));
  return [
    ...(anti.length ? [h("li", {}, say("table.log.anti", { names: seatNames(state, anti) }))] : []),
    ...tributes.map(line("table.log.tribute")),
    ...returns.map(line("table.log.return")),
  ];
}

/** Return who won a round, and how many levels it went up: at A none, and less than it won before that. */
export function outcome(state, result) {
  const { you } = state.table;
  const much = result.rise > 0 ? result.rise : "none";
  if (you === null) return say("result.won", { team: say(`table.team${result.winner}`), gain: say(`result.gain.${much}`) });
  if (you % 2 === result.winner) return say("result.you.won", { gain: say(`result.gain.${much}`) });
  return say("result.you.lost", { gain: say(`result.they.${much}`) });
}

function early(state) {
  return state.round.plays.length < 4;
}

/** Return the last result for those who watch; whoever sits here has seen it in a dialog. */
function above(state) {
  const last = early(state) && state.table.you === null ? state.results.at(-1) : undefined;
  return last && h("p", { class: "last-result" }, outcome(state, last));
}

function below(state) {
  const exchanged = early(state) ? gifts(state) : [];
  return exchanged.length > 0 && h("ul", { class: "transfers" }, exchanged);
}

/** Return which try at A it is; a narrow page has the numbers alone. */
function tries(match, side) {
  const values = { k: match.fails[side] + 1, n: match.tries };
  return h("span", { class: "tries", title: say("table.tries.long", values) },
    h("span", { class: "tries-words" }, say("table.tries", values)), h("span", { class: "tries-numbers", "aria-hidden": "true" }, `${values.k}/${values.n}`));
}

/** Return levels, round and wild card of a table in a line. */
function standing(state) {
  const { match, round, table } = state;
  const own = (table.you ?? 0) % 2;
  const level = (side) =>
    h("span", { class: `level team${side}${match.owner === side ? " owner" : ""}` }, h("span", { class: "team-name" }, teamName(state, side)), h("b", {}, rankText(match.levels[side])),
      match.levels[side] === "A" && !match.over && tries(match, side));
  return [
    level(own), level(1 - own),
    h("span", {}, say("table.round", { round: match.round })),
    h("span", { class: "wild-of" }, say("table.level", { level: rankText(round.level) }), " ", cardFace(`H${round.level}`, { small: true, wild: true })),
    table.games > 1 && h("span", {}, say("table.game", { game: match.game, games: table.games })),
  ];
}

/**
 * Return the end of a round, as it lay: the server has dealt the next one by then.
 * @param {object} before the state before its last move
 * @param {object} now the first state after it
 */
function ended(before, now) {
  if (before.waiting !== null || before.match.round === now.match.round) return null;
  const end = now.results.at(-1);
  const left = [[], [], [], []];
  for (const [seat, cards] of end.left) left[seat] = cards;
  return {
    ...before,
    waiting: now.waiting,
    turn: { seats: [], you: null },
    round: {
      ...before.round,
      hands: before.round.hands.map((hand, seat) => hand && left[seat]),
      rest: left.map((cards) => cards.length),
      trick: end.trick,
      order: end.order,
      greater: null,
    },
  };
}

// --- the results of rounds and matches ---

/** Return what a failure at A means for whom; nothing where there was none. */
function aceLine(state, result) {
  if (result.failed === null) return null;
  const values = { team: teamName(state, result.failed), k: result.fails[result.failed], n: state.match.tries, level: rankText(result.levels[result.failed]) };
  return h("p", { class: "ace-line" }, say(result.dropped ? "result.dropped" : "result.failed", values));
}

function roundTable(state, result) {
  const left = new Map(result.left);
  return h("ol", { class: "finish" }, result.order.map((seat, place) =>
    h("li", { class: `team${seat % 2}` },
      h("span", { class: "place" }, placeWords(place, result.gain === 3)), " ", h("b", {}, seatName(state, seat)),
      (left.get(seat) ?? []).length > 0 && h("div", { class: "left-cards" }, left.get(seat).map((card) => cardFace(card, { small: true, wild: isWild(card, result.level) }))),
    )));
}

function levelsLine(state, result) {
  const own = (state.table.you ?? 0) % 2;
  return say("table.levels", { us: teamName(state, own), a: rankText(result.levels[own]), them: teamName(state, 1 - own), b: rankText(result.levels[1 - own]) });
}

function roundDialog(state, act) {
  const result = state.results.at(-1);
  return dialog(say("result.round", { round: result.round }), (close) => [
    h("p", { class: `outcome team${result.winner}` }, outcome(state, result)),
    result.over && h("p", { class: "outcome" }, matchOutcome(state, state.games_over.at(-1))),
    aceLine(state, result),
    roundTable(state, result),
    h("p", {}, levelsLine(state, result)),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary next", autofocus: true, on: { click: () => { close(); act.next(); } } }, say("result.next")),
      h("button", { type: "button", on: { click: () => { close(); act.review(); } } }, say("app.review"))),
  ]);
}

function matchOutcome(state, over) {
  const { you } = state.table;
  const values = { rounds: over.rounds, team: over.winner === null ? "" : say(`table.team${over.winner}`) };
  if (over.winner === null) return say("result.match.draw", values);
  if (you === null) return say("result.match.won", values);
  return say(you % 2 === over.winner ? "result.match.you.won" : "result.match.you.lost", values);
}

function matchDialog(state, act) {
  const over = state.games_over.at(-1);
  const result = state.results.at(-1);
  const rounds = state.results.filter((one) => one.game === undefined || one.game === result.game);
  const side = (state.table.you ?? 0) % 2;
  return dialog(say("result.match"), (close) => [
    h("p", { class: `outcome team${over.winner}` }, matchOutcome(state, over)),
    roundTable(state, result),
    h("div", { class: "scroll" }, h("table", {},
      h("caption", { class: "visually-hidden" }, say("result.rounds")),
      tableHead([say("result.rounds.number"), say("result.order"), say("result.rounds.gain"), `${teamName(state, side)} : ${teamName(state, 1 - side)}`], [1, 3]),
      h("tbody", {}, rounds.map((one) => h("tr", {},
        h("td", { class: "number" }, one.round),
        h("td", {}, seatNames(state, one.order)),
        h("td", { class: `number team${one.winner}` }, pointsText(one.rise)),
        h("td", {}, `${rankText(one.levels[side])} : ${rankText(one.levels[1 - side])}`)))))),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary", on: { click: () => { close(); act.review(); } } }, say("table.review")),
      h("a", { class: "button", href: act.record, download: "" }, say("table.record")),
      h("a", { class: "button", href: "#/", on: { click: close } }, say("table.gone.back")),
      h("button", { type: "button", on: { click: close } }, say("result.stay"))),
  ]);
}

/** Return the dialog that a state asks for: a name of its own, and what opens it; null where there is none. */
function due(state) {
  const kind = state.match.over && state.games_over.length ? "match" : state.waiting !== null && state.table.you !== null ? "round" : "";
  return kind && { name: `${kind}-${state.results.length}`, open: kind === "match" ? matchDialog : roundDialog };
}

/** GuanDan's face. */
export const GUANDAN = {
  bombs: ["Bomb", "StraightFlush", "FourKings"],
  orders: ["rank", "sets", "suit", "moves"],
  matches: true,
  groups: grouped,
  isWild: (card, { level }) => isWild(card, level),
  laid: (cards) => cards,
  deck: ({ table }) => (table.you === null ? null : TWO_DECKS),
  plate, request, above, below, standing, ended, due, whyWords, wildText,
  logHead: transfers,
  partner: ({ round, table }) => round.greater?.seat === (table.you + 2) % 4,
  won(before, state) {
    const end = state.results.length > before.results.length ? state.results.at(-1) : null;
    return end && end.winner === (state.table.you ?? 0) % 2;
  },
};
