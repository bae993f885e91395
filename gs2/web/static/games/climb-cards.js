// Cards and moves of DouDiZhu and Big2: how a hand is laid out, which move some cards make, and their words.

import { cardWords, rankText } from "gs2/cards.js";
import { addWords, language, say } from "gs2/words.js";

/** Ranks by strength; B and R are the jokers of DouDiZhu. */
const ORDER = "3456789TJQKA2BR";

addWords({
  en: {
    "climb.pass": "Pass",
    "climb.solo": "{cards}", "climb.single": "{cards}",
    "climb.pair": "Pair of {ranks}",
    "climb.trio": "Three {ranks}", "climb.triple": "Three {ranks}",
    "climb.chain of solos": "Chain {list}",
    "climb.chain of pairs": "Pairs in a row {list}",
    "climb.chain of trios": "Plane {list}",
    "climb.trio with a solo": "Trio with one: {list}",
    "climb.trio with a pair": "Trio with a pair: {list}",
    "climb.plane with solos": "Plane with singles: {list}",
    "climb.plane with pairs": "Plane with pairs: {list}",
    "climb.four with two solos": "Four with two: {list}",
    "climb.four with two pairs": "Four with two pairs: {list}",
    "climb.bomb": "Bomb of {ranks}",
    "climb.rocket": "Rocket: both jokers",
    "climb.straight": "Straight {list}",
    "climb.flush": "Flush {list}",
    "climb.full house": "Full house {list}",
    "climb.four and one": "Four and one: {list}",
    "climb.straight flush": "Straight flush {list}",
  },
  zh: {
    "climb.pass": "不要",
    "climb.solo": "{cards}", "climb.single": "{cards}",
    "climb.pair": "对{ranks}",
    "climb.trio": "三张{ranks}", "climb.triple": "三张{ranks}",
    "climb.chain of solos": "顺子{list}",
    "climb.chain of pairs": "连对{list}",
    "climb.chain of trios": "飞机{list}",
    "climb.trio with a solo": "三带一：{list}",
    "climb.trio with a pair": "三带二：{list}",
    "climb.plane with solos": "飞机带单：{list}",
    "climb.plane with pairs": "飞机带对：{list}",
    "climb.four with two solos": "四带二：{list}",
    "climb.four with two pairs": "四带两对：{list}",
    "climb.bomb": "炸弹{ranks}",
    "climb.rocket": "王炸",
    "climb.straight": "顺子{list}",
    "climb.flush": "同花{list}",
    "climb.full house": "葫芦{list}",
    "climb.four and one": "铁支{list}",
    "climb.straight flush": "同花顺{list}",
  },
});

/** Return a card's rank as moves spell it: the jokers are B and R. */
export function letterOf(card) {
  return card === "SB" ? "B" : card === "HR" ? "R" : card[1];
}

function byRank(suits) {
  return (a, b) => ORDER.indexOf(letterOf(a)) - ORDER.indexOf(letterOf(b)) || suits.indexOf(a[0]) - suits.indexOf(b[0]);
}

/**
 * Return a hand in groups, the highest first, for `Hand`.
 * @param {string[]} cards
 * @param {string} suits weakest first; "" where suits decide nothing
 * @param {"rank" | "sets" | "suit"} order
 */
export function climbGroups(cards, suits, order) {
  const found = new Map();
  const down = (a, b) => -byRank(suits || "DCHS")(a, b);
  for (const card of [...cards].sort(down)) {
    const key = order === "suit" ? card[0] : letterOf(card);
    found.set(key, [...(found.get(key) ?? []), card]);
  }
  const list = [...found.values()];
  if (order === "sets") list.sort((a, b) => b.length - a.length); // stable: by rank among equals
  if (order === "suit") list.sort((a, b) => suits.indexOf(b[0][0]) - suits.indexOf(a[0][0]));
  return list;
}

/** Return cards from the highest down. */
export function sortedCards(cards, suits) {
  return climbGroups(cards, suits, "rank").flat();
}

/** Return what names the move that some cards make: ranks alone in DouDiZhu, the very cards in Big2. */
export function cardsKey(cards, suits) {
  return suits ? [...cards].sort().join(" ") : [...cards].map(letterOf).sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)).join("");
}

/** Return the key of a legal move from the words that the server says. */
export function moveKey(text, suits) {
  return suits ? text.split(" ").sort().join(" ") : text;
}

/**
 * Return cards of a hand that make a move, by the move's words.
 * @param {string} text
 * @param {string[]} hand
 * @param {string} suits
 */
export function cardsOfMove(text, hand, suits) {
  if (suits) return text.split(" ");
  const left = [...hand];
  return [...text].map((letter) => left.splice(left.findIndex((card) => letterOf(card) === letter), 1)[0]);
}

/** Kinds of plays that beat others out of turn, as bombs do. */
export const BOMBS = ["bomb", "rocket", "four and one", "straight flush"];

/** Return how many groups of one rank a play takes apart; one of four counts twice. */
function apart(cards, hand) {
  const count = (list, letter) => list.filter((card) => letterOf(card) === letter).length;
  const torn = [...new Set(cards.map(letterOf))].filter((letter) => count(cards, letter) < count(hand, letter));
  return torn.reduce((sum, letter) => sum + (count(hand, letter) >= 4 ? 2 : 1), 0);
}

/**
 * Return the places of plays in the order in which to suggest them: bombs last, before them what takes groups
 * of one rank apart, the fewer the sooner; among equals as they are listed.
 * @param {{cards: string[], kind: string}[]} plays
 * @param {string[]} hand
 */
export function suggestOrder(plays, hand) {
  const cost = plays.map(({ cards, kind }) => (BOMBS.includes(kind) ? 100 : 0) + apart(cards, hand));
  return plays.map((_, i) => i).sort((a, b) => cost[a] - cost[b] || a - b);
}

/** Return the key of the words that say what would beat the play on the table, where some cards do not. */
export function tooLowKey({ kind, beat, bomb_rule: bombs }) {
  if (kind === "doudizhu") return `games.why.${{ rocket: "rocket", bomb: "bomb" }[beat.kind] ?? "kind"}`;
  if (beat.cards.length === 5) return "games.why.five";
  return `games.why.few.${bombs}`;
}

function rankName(letter) {
  return letter === "B" ? say("card.SB") : letter === "R" ? say("card.HR") : rankText(letter);
}

/** Return a play in words: "Pair of 6s", 对6. */
export function playWords({ cards, kind }) {
  if (cards.length === 0) return say("climb.pass");
  const counted = [...cards].sort((a, b) => ORDER.indexOf(letterOf(a)) - ORDER.indexOf(letterOf(b)));
  const letters = counted.map(letterOf);
  // what the move is made of comes first: 6 6 6 3, not 3 6 6 6
  const times = (letter) => letters.filter((other) => other === letter).length;
  const list = kind.startsWith("chain") || kind.includes("straight") || kind === "flush" ? letters : [...letters].sort((a, b) => times(b) - times(a));
  const rank = rankName(list[0]);
  const values = {
    cards: counted.map((card) => (["B", "R"].includes(letterOf(card)) ? cardWords(card) : kind === "solo" ? rankName(letterOf(card)) : cardWords(card))).join(" "),
    ranks: language() === "en" ? `${rank}s` : rank,
    list: list.map(rankName).join(" "),
  };
  const text = say(`climb.${kind}`, values);
  return text === `climb.${kind}` ? values.list : text;
}
