// What has gone: how many cards of each rank others may still hold.

import { letterOf, rankText } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { say } from "gs2/words.js";

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
