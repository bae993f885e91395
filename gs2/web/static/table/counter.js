// What has gone: how many cards of each rank others may still hold.

import { rankText } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { say } from "gs2/words.js";

/** Two decks by rank, the highest first, as GuanDan deals them; B and R are the jokers. */
export const TWO_DECKS = { R: 2, B: 2, ...Object.fromEntries([..."AKQJT98765432"].map((rank) => [rank, 8])) };

/**
 * Return how many cards of each rank are neither held nor played.
 * @param {Object<string, number>} deck cards of each rank
 * @param {string[]} seen cards of the own hand, and played
 * @returns {[string, number][]}
 */
export function unseen(deck, seen) {
  const letter = (card) => (card === "SB" ? "B" : card === "HR" ? "R" : card[1]);
  const left = new Map(Object.entries(deck));
  for (const card of seen) left.set(letter(card), left.get(letter(card)) - 1);
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
