// Cards and moves, as pictures and in words. Names are those of records: "S6", "HT", "SB", "HR".

import { h, svg } from "gs2/dom.js";
import { addWords, language, say } from "gs2/words.js";

/**
 * A move as records have it: [type, rank, cards]; a pass is ["PASS", "PASS", "PASS"]. In climbing games it has no rank.
 * @typedef {[string, string, string[]|string]} Move
 */

/** Outlines of the suits, from the deck's own pictures (see deck/README.md), in a box of 1200 × 1200. */
const SUITS = {
  S: "M0-500c100 250 355 400 355 685a150 150 0 0 1-300 0 10 10 0 0 0-20 0c0 200 50 215 95 315h-260c45-100 95-115 95-315a10 10 0 0 0-20 0 150 150 0 0 1-300 0c0-285 255-435 355-685",
  H: "M0-300c0-100 100-200 200-200s200 100 200 250C400 0 0 400 0 500 0 400-400 0-400-250c0-150 100-250 200-250S0-400 0-300",
  C: "M30 150c5 235 55 250 100 350h-260c45-100 95-115 100-350a10 10 0 0 0-20 0 210 210 0 1 1-74-201 10 10 0 0 0 14-14 230 230 0 1 1 220 0 10 10 0 0 0 14 14 210 210 0 1 1-74 201 10 10 0 0 0-20 0",
  D: "M-400 0C-350 0 0-450 0-500 0-450 350 0 400 0 350 0 0 450 0 500 0 450-350 0-400 0",
};
const STAR = "M0-520 124-170 495-161 200 65 306 421 0 210-306 421-200 65-495-161-124-170z";
const SPARK = "M0-560Q60-60 560 0 60 60 0 560-60 60-560 0-60-60 0-560";

/** Ranks by strength where the level plays no part. */
export const RANKS = "23456789TJQKA";
/** Ranks by strength in climbing games; B and R are the jokers. */
export const CLIMBING = "3456789TJQKA2BR";
const MANY = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const RUN = `A${RANKS}`;
/** Ranks in a row that the types of sequences take. */
const SLOTS = { Straight: 5, StraightFlush: 5, ThreePair: 3, TwoTrips: 2 };

addWords({
  "card.S": ["{rank} of spades", "黑桃{rank}"],
  "card.H": ["{rank} of hearts", "红桃{rank}"],
  "card.C": ["{rank} of clubs", "梅花{rank}"],
  "card.D": ["{rank} of diamonds", "方块{rank}"],
  "card.SB": ["small joker", "小王"],
  "card.HR": ["big joker", "大王"],
  "card.word.SB": ["SMALL", "小王"],
  "card.word.HR": ["BIG", "大王"],
  "card.back": ["face-down card", "背面朝上的牌"],
  "card.wild": ["{card}, wild", "{card}（逢人配）"],
  "rank.J": ["jack", "J"],
  "rank.Q": ["queen", "Q"],
  "rank.K": ["king", "K"],
  "rank.A": ["ace", "A"],
  "move.Single": ["{cards}", "单张{cards}"],
  "move.Pair": ["Pair of {ranks}", "对{ranks}"],
  "move.Trips": ["Three {ranks}", "三张{ranks}"],
  "move.ThreeWithTwo": ["Full house, {ranks} with {others}", "三带二：{ranks}带{others}"],
  "move.ThreePair": ["Tube {from} to {to}", "三连对{from}到{to}"],
  "move.TwoTrips": ["Plate {from} and {to}", "钢板{from}到{to}"],
  "move.Straight": ["Straight {from} to {to}", "顺子{from}到{to}"],
  "move.StraightFlush": ["Straight flush {from} to {to} in {suit}", "{suit}同花顺{from}到{to}"],
  "move.Bomb": ["Bomb: {many} {ranks}", "炸弹：{count}张{ranks}"],
  "move.FourKings": ["Joker bomb", "天王炸"],
  "move.PASS": ["Pass", "不要"],
  "move.tribute": ["Pay {cards}", "进贡{cards}"],
  "move.back": ["Return {cards}", "还贡{cards}"],
  "ranks.B": ["small jokers", "小王"],
  "ranks.R": ["big jokers", "大王"],
  "suit.S": ["spades", "黑桃"],
  "suit.H": ["hearts", "红桃"],
  "suit.C": ["clubs", "梅花"],
  "suit.D": ["diamonds", "方块"],
  "kind.Single": ["Single", "单张"],
  "kind.Pair": ["Pair", "对子"],
  "kind.Trips": ["Three of a kind", "三张"],
  "kind.ThreeWithTwo": ["Full house", "三带二"],
  "kind.ThreePair": ["Tube", "三连对"],
  "kind.TwoTrips": ["Plate", "钢板"],
  "kind.Straight": ["Straight", "顺子"],
  "kind.StraightFlush": ["Straight flush", "同花顺"],
  "kind.Bomb": ["Bomb", "炸弹"],
  "kind.FourKings": ["Joker bomb", "天王炸"],
  "kind.PASS": ["Pass", "不要"],
});

/** Whether a name is one of the 54 cards. */
export function isCard(name) {
  return name === "SB" || name === "HR" || (name?.length === 2 && name[0] in SUITS && RANKS.includes(name[1]));
}

/** Whether a move is a pass. */
export function passes(move) {
  return move[0] === "PASS";
}

/** Return a rank as it is printed: "T" is 10. */
export function rankText(rank) {
  return rank === "T" ? "10" : rank;
}

/** Whether a card is wild in a round of this level: the hearts of the level. */
export function isWild(name, level) {
  return name === `H${level}`;
}

/** Return a card's short name for people: "♠6", "♥10"; jokers in words. */
export function cardText(name) {
  if (name === "SB" || name === "HR") return say(`card.${name}`);
  return isCard(name) ? { S: "♠", H: "♥", C: "♣", D: "♦" }[name[0]] + rankText(name[1]) : String(name);
}

/** Return a text in which cards stand as people write them: "♠10" for ST. */
export function cardsText(text) {
  return String(text).replace(/\b(SB|HR|[SHCD][2-9TJQKA])\b/g, (name) => cardText(name));
}

/** Return a card in words: "6 of spades", 黑桃6. */
export function cardWords(name) {
  if (!isCard(name)) return String(name);
  if (name === "SB" || name === "HR") return say(`card.${name}`);
  const rank = "JQKA".includes(name[1]) ? say(`rank.${name[1]}`) : rankText(name[1]);
  return say(`card.${name[0]}`, { rank });
}

function manyOf(rank) {
  if (rank === "B" || rank === "R") return say(`ranks.${rank}`);
  return language() === "en" ? `${rankText(rank)}s` : rankText(rank);
}

/** Return the rank of a card, jokers being B and R as in records. */
export function letterOf(name) {
  return name === "SB" ? "B" : name === "HR" ? "R" : name[1];
}

/** Return a rank in words. */
function rankName(rank) {
  return rank === "B" ? say("card.SB") : rank === "R" ? say("card.HR") : rankText(rank);
}

/** Return the ranks of cards in the order in which a move names them: the most frequent first, in runs from the lowest up. */
function ranksOf(kind, cards) {
  const letters = cards.map(letterOf).sort((a, b) => CLIMBING.indexOf(a) - CLIMBING.indexOf(b));
  const times = (letter) => letters.filter((other) => other === letter).length;
  return /^chain|straight|^flush/.test(kind) ? letters : letters.sort((a, b) => times(b) - times(a)); // 6 6 6 3, not 3 6 6 6
}

/**
 * Return a move in words: "Pair of 6s", 对6.
 * @param {Move} move
 */
export function moveWords(move) {
  const [kind, rank, cards] = move;
  if (passes(move)) return say("move.PASS");
  const list = Array.isArray(cards) ? cards : [];
  const ranks = rank ? [rank] : ranksOf(kind, list);
  const values = { cards: list.map(cardWords).join(" "), rank: rankName(ranks[0]), ranks: manyOf(ranks[0]), list: ranks.map(rankName).join(" "), count: list.length, many: MANY[list.length] ?? list.length };
  if (kind === "ThreeWithTwo" && list.length === 5) values.others = manyOf(letterOf(list[3]));
  if (kind in SLOTS) {
    const low = RUN.indexOf(rank);
    values.from = rankText(RUN[low] ?? rank);
    values.to = rankText(RUN[low + SLOTS[kind] - 1] ?? "");
  }
  // a wild card is a heart whatever it stands for, so any other card tells the suit
  if (kind === "StraightFlush") values.suit = say(`suit.${(list.find((card) => card[0] !== "H") ?? "H")[0]}`);
  const text = say(`move.${kind}`, values);
  return text !== `move.${kind}` ? text : rank ? `${kind} ${rank}` : values.list;
}

/** Return the name of a type of move: "Full house", 三带二. */
export function kindWords(kind) {
  const text = say(`kind.${kind}`);
  return text === `kind.${kind}` ? String(kind) : text;
}

function shape(path, part) {
  return svg("svg", { viewBox: "-600 -600 1200 1200", class: part, "aria-hidden": "true" }, svg("path", { d: path }));
}

/** Where the deck's pictures lie; null in a file of its own, which has none. */
const PICTURES = import.meta.url.startsWith("http") ? new URL("./deck/", import.meta.url).href : null;

/**
 * Return a card as an element; without `back` its label says what it is.
 * @param {string} name
 * @param {{small?: boolean, wild?: boolean, back?: boolean}} options small: rank and suit only, in the height
 *   of a line. wild: mark it as one. back: face down, `name` is not looked at.
 */
export function cardFace(name, { small = false, wild = false, back = false } = {}) {
  if (back || !isCard(name)) {
    return h("span", { class: `card back${small ? " small" : ""}`, role: "img", "aria-label": say("card.back") });
  }
  const joker = name === "SB" || name === "HR";
  const red = name[0] === "H" || name[0] === "D";
  const label = wild ? say("card.wild", { card: cardWords(name) }) : cardWords(name);
  const corner = h(
    "span",
    { class: "card-corner", "aria-hidden": "true" },
    joker ? shape(STAR, "card-star") : h("span", { class: name[1] === "T" ? "card-rank ten" : "card-rank" }, rankText(name[1])),
    joker ? h("span", { class: "card-word" }, say(`card.word.${name}`)) : shape(SUITS[name[0]], "card-suit"),
    wild && shape(SPARK, "card-spark"),
  );
  const picture =
    small || PICTURES === null
      ? null
      : h("img", { class: "card-picture", alt: "", src: `${PICTURES}${name}.svg`, draggable: false, decoding: "sync" });
  const classes = ["card", red ? "red" : "black", small && "small", wild && "wild", joker && "joker", joker && name];
  return h(
    "span",
    { class: classes.filter(Boolean).join(" "), role: "img", "aria-label": label, "data-card": name },
    corner,
    picture,
  );
}
