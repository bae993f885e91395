// The middle of a table: four seats around a felt, what each has played, and what is asked.

import { cardWords, isWild, moveWords, cardFace } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { fan, groups } from "gs2/hand.js";
import { say } from "gs2/words.js";

/** Where the seats are, from the one below: the next to play sits to the right. */
const PLACES = ["mine", "right", "top", "left"];

/** Return who sits at the lower edge: oneself, or seat 0. */
export function below(state) {
  return state.table.you ?? 0;
}

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
export function lastMoves(trick) {
  const moves = [null, null, null, null];
  for (const { seat, move } of trick ?? []) moves[seat] = move;
  return moves;
}

/** Return the moves on the felt, and whether they are those of the trick before. */
function onFelt(state) {
  const { trick, plays } = state.round;
  if (trick.some((move) => move !== null)) return { moves: trick, past: false };
  return { moves: lastMoves(tricks(plays).at(-1)), past: true };
}

function played(move, level, { best, fresh }) {
  if (move === null) return h("div", { class: "played empty" });
  if (move[0] === "PASS") return h("div", { class: "played pass" }, h("span", {}, say("table.pass")));
  const bomb = ["Bomb", "StraightFlush", "FourKings"].includes(move[0]);
  const classes = ["played", best && "best", bomb && "bomb", fresh && "fresh"];
  return h("div", { class: classes.filter(Boolean).join(" "), role: "group", "aria-label": moveWords(move) }, fan(move[2], level));
}

/** Return the first letter of a name; an emoji is one. */
export function initialOf(name) {
  const [first = "?"] = (name ?? "").trim();
  return first.toUpperCase();
}

/** Return what a place in the order is called; `caught`: of a round that ended with two seats holding cards. */
export function placeWords(place, caught) {
  return say(caught && place >= 2 ? "table.place.caught" : `table.place.${place}`);
}

function plate(state, seat, act) {
  const { table, round, turn, match } = state;
  const place = round.order.indexOf(seat);
  const caught = place >= 2 && round.rest[round.order[2]] > 0;
  const sitter = table.seats[seat];
  const rest = round.rest[seat];
  const acts = turn.seats.includes(seat) && state.waiting === null && !match.over;
  const partner = table.you !== null && seat !== table.you && (seat - table.you) % 2 === 0;
  const classes = ["plate", `team${seat % 2}`, acts && "acts", sitter.kind === "person" && !sitter.connected && "away"];
  return h("div", { class: classes.filter(Boolean).join(" ") },
    h("span", { class: "avatar", "aria-hidden": "true" }, place >= 0 && !caught ? String(place + 1) : initialOf(sitter.name)),
    h("span", { class: "who" },
      h("span", { class: "name", title: sitter.name }, seatName(state, seat)),
      h("span", { class: "rest" },
        place >= 0
          ? h("span", { class: "place" }, placeWords(place, caught))
          : [h("span", { class: "mini-back", "aria-hidden": "true" }), say("table.cards", { n: rest })],
        partner && h("span", { class: "role" }, say("table.partner")),
        sitter.kind === "person" && !sitter.connected && h("span", { class: "role" }, say("table.away")),
        acts && h("span", { class: "acts-mark" }, sitter.kind === "agent" ? say("table.thinking") : say("table.turn")),
      ),
    ),
    sitter.kind === "open" && table.you === null && h("button", { type: "button", class: "join", on: { click: () => act.join(seat) } }, say("table.join")),
  );
}

function openHand(cards, state, seat) {
  const level = state.round.level;
  const inOrder = groups(cards, level, "rank").flat();
  return h("div", { class: "open-hand", role: "group", "aria-label": say("table.hand.of", { name: seatName(state, seat) }) },
    inOrder.map((card) => cardFace(card, { small: true, wild: isWild(card, level) })));
}

/** Return who led in the place of a seat that is out and won the last trick; null where nobody does. */
function givesTheWind(state) {
  const { round, turn } = state;
  const last = round.plays.findLast((play) => play.move[0] !== "PASS");
  const leads = round.phase === "play" && round.greater === null && last !== undefined;
  return leads && !turn.seats.includes(last.seat) ? last.seat : null;
}

/** Return what the middle of the felt says: what is asked of whom, or what tribute was paid. */
export function request(state) {
  const { turn, round, match, waiting } = state;
  if (match.over || waiting !== null) return "";
  const stage = turn.you?.stage ?? (round.phase === "over" ? "play" : round.phase);
  const wind = givesTheWind(state);
  if (turn.you !== null) {
    if (stage !== "play") return say(`table.${stage}`);
    if (round.greater) return say("table.yours", { move: moveWords(round.greater.move) });
    return wind === null ? say("table.lead") : say("table.lead.wind", { name: seatName(state, wind) });
  }
  if (turn.seats.length === 0) return "";
  if (turn.seats.some((seat) => state.table.seats[seat].kind === "open")) return say("table.waits.open");
  const names = seatNames(state, turn.seats);
  if (wind !== null) return say("table.waits.wind", { names, name: seatName(state, wind) });
  return stage === "play" ? say("table.waits", { names }) : say(`table.waits.${stage}`, { names });
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
export function transfers(state) {
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

/** Return a number of points or levels with its sign. */
export function signed(value) {
  const text = Number.isInteger(value) ? String(Math.abs(value)) : Math.abs(value).toFixed(2);
  return value === 0 ? "0" : `${value < 0 ? "−" : "+"}${text}`;
}

/** Return who won a round, and how many levels it went up: at A none, and less than it won before that. */
export function outcome(state, result) {
  const { you } = state.table;
  const much = result.rise > 0 ? result.rise : "none";
  if (you === null) return say("result.won", { team: say(`table.team${result.winner}`), gain: say(`result.gain.${much}`) });
  if (you % 2 === result.winner) return say("result.you.won", { gain: say(`result.gain.${much}`) });
  return say("result.you.lost", { gain: say(`result.they.${much}`) });
}

/**
 * Return the felt.
 * @param {any} state as the server sends it
 * @param {{join: (seat: number) => void}} act
 * @param {number | null} fresh seat whose move is new to the viewer
 */
export function felt(state, act, fresh = null) {
  const first = below(state);
  const { moves, past } = onFelt(state);
  const best = state.round.greater?.seat;
  const { level, hands } = state.round;
  const seats = PLACES.map((place, i) => {
    const seat = (first + i) % 4;
    const shown = hands[seat] !== null && seat !== state.table.you;
    return h("section", { class: `seat ${place}`, "aria-label": seatName(state, seat) },
      plate(state, seat, act),
      shown && openHand(hands[seat], state, seat),
      played(moves[seat], level, { best: seat === best && !past, fresh: seat === fresh }),
    );
  });
  const early = state.round.plays.length < 4;
  const exchanged = early ? gifts(state) : [];
  // whoever sits here has seen it in a dialog
  const last = early && state.table.you === null ? state.results.at(-1) : undefined;
  return h("div", { class: `felt${past ? " past" : ""}` },
    seats,
    h("div", { class: "center" },
      last && h("p", { class: "last-result" }, outcome(state, last)),
      h("p", { class: `request${state.turn.you && state.waiting === null ? " yours" : ""}` }, request(state)),
      exchanged.length > 0 && h("ul", { class: "transfers" }, exchanged)),
  );
}

/** Return which try at A it is; a narrow page has the numbers alone. */
function tries(match, side) {
  const values = { k: match.fails[side] + 1, n: match.tries };
  return h("span", { class: "tries", title: say("table.tries.long", values) },
    h("span", { class: "tries-words" }, say("table.tries", values)), h("span", { class: "tries-numbers", "aria-hidden": "true" }, `${values.k}/${values.n}`));
}

/** Return levels, round and wild card of a table in a line. */
export function standing(state) {
  const { match, round, table } = state;
  const own = table.you === null ? 0 : table.you % 2;
  const team = (side) => (table.you === null ? say(`table.team${side}`) : say(side === own ? "table.us" : "table.them"));
  const level = (side) =>
    h("span", { class: `level team${side}${match.owner === side ? " owner" : ""}` }, h("span", { class: "team-name" }, team(side)), h("b", {}, match.levels[side] === "T" ? "10" : match.levels[side]),
      match.levels[side] === "A" && !match.over && tries(match, side));
  return h("div", { class: "standing" },
    level(own), level(1 - own),
    h("span", {}, say("table.round", { round: match.round })),
    h("span", { class: "wild-of" }, say("table.level", { level: round.level === "T" ? "10" : round.level }), " ", cardFace(`H${round.level}`, { small: true, wild: true })),
    table.games > 1 && h("span", {}, say("table.game", { game: match.game, games: table.games })),
  );
}
