// How all games but GuanDan look: those of cards, in DouDiZhu with calls, landlord and stake; and those of words alone.

import { cardFace, CLIMBING, letterOf, moveWords } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { pointsText, seatName } from "gs2/felt.js";
import { groups } from "gs2/hand.js";
import { spokenWords, toldWords } from "gs2/spoken.js";
import { say } from "gs2/words.js";
import "gs2/games-words.js";
import "gs2/table-words.js";

/** Return a hand in groups; round.suits: weakest first, where they decide. */
function grouped(cards, round, order) {
  const suits = [...(round.suits || "DCHS")].reverse().join("");
  return groups(cards, order, { suits, height: (card) => CLIMBING.indexOf(letterOf(card)) });
}

/** Return what a seat is in the round: "landlord" or "farmer", null in other games and before there is one. */
function roleOf({ landlord }, seat) {
  if (landlord === undefined || landlord === null) return null;
  return landlord === seat ? "landlord" : "farmer";
}

function plate({ round }, seat) {
  const role = roleOf(round, seat);
  return {
    side: role && `${role} ${role === "landlord" ? "team1" : "team0"}`,
    mark: role === "landlord" ? "♛" : undefined,
    notes: role && h("span", { class: `role-badge ${role}` }, say(`games.role.${role}`)),
  };
}

/** Return what a seat said of the landlord last, until the first card is played. */
function before({ round }, seat) {
  const call = round.plays.length === 0 ? round.calls?.findLast(([who]) => who === seat) : undefined;
  return call && h("div", { class: "played pass call" }, h("span", {}, say(`games.call.${call[1]}`)));
}

/** Return how a round ended, in words; null while it goes on. */
export function outcomeWords({ round, table }) {
  if (!round.over) return null;
  const { landlord, points } = round;
  if (landlord === null) return say("games.nobody");
  const winner = landlord === undefined ? "" : points[landlord] > 0 ? "landlord" : "farmers";
  const mine = table.you === null ? null : points[table.you];
  const result = mine > 0 ? "won" : mine < 0 ? "lost" : "even";
  return [
    winner && say(`games.side.${winner}`), round.spring && say(`games.spring.${winner}`),
    mine !== null && say(`games.${result}`, { points: pointsText(Math.abs(mine)).replace("+", "") }),
  ].filter(Boolean).join(" ");
}

/** The three cards of the landlord and what the round is worth. */
function stakes(round) {
  if (round.bottom === undefined) return null;
  const times = 2 ** round.bombs * (round.spring ? 2 : 1);
  const bottom = round.bottom ?? [null, null, null];
  return h("div", { class: "stakes" },
    h("span", { class: "bottom-cards", role: "group", "aria-label": say("games.bottom") },
      h("span", { class: "stake-word", "aria-hidden": "true" }, say("games.bottom")),
      bottom.map((card) => cardFace(card ?? "", { back: card === null, small: true }))),
    round.bid > 0 && h("span", { class: "stake" }, say("games.bid", { n: round.bid })),
    round.counts_bombs && h("span", { class: `stake times${times > 1 ? " raised" : ""}`, title: say(round.springs ? "games.times.long.spring" : "games.times.long") }, say("games.times", { n: times })));
}

function outcomeLine(state) {
  const outcome = outcomeWords(state);
  return outcome && h("p", { class: "last-result", role: "status" }, outcome);
}

function request({ round, turn }) {
  if (turn.you?.moves && round.landlord === null) return say("games.yours.call");
  if (turn.you !== null && round.opens?.length) return say("games.yours.opens", { card: moveWords(["single", "", round.opens]) });
  return "";
}

/** Return the calls for the landlord as lines. */
function logHead(state) {
  const calls = state.round.calls ?? [];
  return calls.length === 0 ? [] : [h("li", { class: "log-trick" }, h("ol", { "aria-label": say("games.auction") }, calls.map(([seat, call]) =>
    h("li", { class: "log-move" }, h("span", { class: "log-who" }, seatName(state, seat)), " ", say(`games.call.${call}`)))))];
}

/** Return what has been called since, and who has become the landlord. */
function said(old, now) {
  const calls = (now.round.calls ?? []).slice(old.round.calls?.length ?? 0);
  const landlord = old.round.landlord === null && now.round.landlord !== null;
  return [
    ...calls.map(([seat, call]) => say("table.said", { name: seatName(now, seat), move: say(`games.call.${call}`) })),
    ...(landlord ? [say("games.said.landlord", { name: seatName(now, now.round.landlord) })] : []),
  ];
}

/** Return why cards cannot be played, in words. */
function whyWords({ code, need, beat }) {
  if (code === "opens") return say("games.yours.opens", { card: moveWords(["single", "", need]) });
  return worded(`games.why.${code}`, say(`why.${code}`), { move: beat ? moveWords(beat) : "" });
}

// --- what all of them have ---

/** Return text of the page's own if it has any for a key, else `otherwise`. */
export function worded(key, otherwise, values = {}) {
  const text = say(key, values);
  return text === key ? otherwise : text;
}

/** Return what a seat of a game is called: where seats differ, what it is there. */
export function seatLabel(game, seat) {
  const other = say("games.seat", { n: seat + 1 });
  return game.includes("landlord=bid") ? other : worded(`seat.${game.split("(")[0]}.${seat}`, other);
}

/** Return the title of a game by its name, options after it: "DouDiZhu (landlord=bid)". */
export function gameTitle(name) {
  const [family, options] = name.split("(");
  const title = worded(`game.${family}`, family);
  if (!options) return title;
  const words = options.replace(")", "").split(",").map((word) => {
    const [option, value] = word.split("=");
    return worded(`choice.${family}.${option}.${value}`, `${worded(`option.${family}.${option}`, option)}: ${worded(`choice.${value}`, value)}`);
  });
  return `${title} (${words.join(", ")})`;
}

function standing({ round, table }) {
  return [
    h("b", {}, gameTitle(table.game)),
    h("span", {}, say("games.round", { n: round.number })),
    table.you !== null && h("span", {}, say("games.score"), " ", h("b", {}, pointsText(table.seats[table.you].score))),
  ];
}

function won(before, { round, table }) {
  return round.over && !before.round.over ? round.points[table.you ?? 0] > 0 : null;
}

/** Return the score sheet: the total of each player, and the rounds, the last first. */
function scores(state) {
  const { finished, table } = state;
  if (finished.length === 0) return h("p", { class: "quiet" }, say("games.score.none"));
  const seats = table.seats.map((_, player) => table.seats.findIndex((one) => one.player === player));
  const cell = (value) => h("td", { class: "number" }, pointsText(value));
  const head = (seat) => h("th", { scope: "col", class: "number", title: seatName(state, seat) }, seatName(state, seat));
  return h("div", { class: "scroll score-scroll", role: "region", tabIndex: 0, "aria-label": say("games.score") }, h("table", { class: "score-sheet" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("games.rounds")), seats.map(head))),
    h("tbody", {},
      h("tr", { class: "total" }, h("th", { scope: "row" }, say("games.total")), seats.map((seat) => cell(table.seats[seat].score))),
      [...finished].reverse().map((round) => h("tr", {}, h("th", { scope: "row" }, round.number), round.points.map(cell))))));
}

const SHARED = { bombs: [], orders: [], groups: grouped, isWild: () => false, logHead: () => [], above: outcomeLine, request: () => "", standing, won, scores, outcomeWords };

/** The face of DouDiZhu, Big2 and other games of cards. */
export const CARDS = {
  ...SHARED,
  bombs: ["bomb", "rocket", "four and one", "straight flush"],
  orders: ["rank", "suit", "sets", "moves"],
  laid: (cards, round) => grouped(cards, round, "rank").flat(),
  deck: ({ round }) => round.deck,
  plate, before, request, logHead, said, whyWords,
  above: (state) => [stakes(state.round), outcomeLine(state)],
  spoken: (text) => (text.startsWith("call ") ? say(`games.call.${text.slice(5) === "pass" ? 0 : text.slice(5)}`) : text),
  partner: ({ round: { greater, landlord }, table }) => Boolean(greater) && landlord !== undefined && ![greater.seat, table.you].includes(landlord),
};

function told(state) {
  return toldWords(state.round.words ?? "", state.table.seats.map((_, seat) => seatName(state, seat)));
}

/** The face of games that say in words what a player knows. */
export const WORDS = {
  ...SHARED,
  plate: (state, seat) => ({ notes: h("span", { class: "role-badge" }, `P${seat}`) }),
  above: (state) => [
    h("p", { class: "game-words" }, told(state).split("|").map((part) => part.trim() && h("span", { class: "words-part" }, part.trim()))),
    outcomeLine(state),
  ],
  said: (old, now) => (old.round.words === now.round.words ? [] : [told(now)]),
  spoken: spokenWords,
};
