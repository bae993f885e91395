// What the games without pictures say, for people: "P0 holds Kh | raise" is "Ann holds K♥", then "raise".

import { addWords, language, say } from "gs2/words.js";

const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };

addWords({
  "games.word.holds.you": ["You hold", "你持有"],
  "games.word.holds": [null, "持有"],
  "games.word.board": [null, "公共牌"],
  "games.word.prize": [null, "奖分"],
  "games.word.bid": [null, "出价"],
  "games.word.points": [null, "得分"],
  "games.word.fold": [null, "弃牌"],
  "games.word.call": [null, "跟注"],
  "games.word.check": [null, "过牌"],
  "games.word.raise": [null, "加注"],
  "games.word.bet": [null, "下注"],
  "games.word.pass": [null, "不下注"],
  "games.word.liar": [null, "质疑"],
});

/** Return one word of a game in the chosen language; as it is where it has no other. */
function wordOf(word) {
  const told = say(`games.word.${word}`);
  return told === `games.word.${word}` ? word : told;
}

/** Return a move or a part of what a player knows in words, without the seats' names. */
export function spokenWords(text) {
  const shown = text
    .replace(/\b([2-9TJQKA])([shdc])\b/g, (_, rank, suit) => `${rank === "T" ? "10" : rank}${SUITS[suit]}`)
    .replace(/\b(\d+)x(\d+)\b/g, "$1×$2");
  if (language() === "en") return shown;
  // points follow their number in English and go before it here
  return shown
    .replace(/(\d+) points\b/g, "points $1")
    .replace(/\b(?!P\d)[a-z]+\b/g, wordOf)
    .replaceAll(", ", "，");
}

/**
 * Return what a player knows in words, seats by their names.
 * @param {string} text
 * @param {string[]} names of the seats
 */
export function toldWords(text, names) {
  const holds = language() === "en" ? " holds" : wordOf("holds");
  return spokenWords(text)
    .replace(/\bP(\d)(?: (持有))?/g, (whole, digit, verb) => (digit in names ? `${names[digit]}${verb ?? ""}` : whole))
    .replaceAll(`${say("lobby.me")}${holds}`, say("games.word.holds.you"));
}
