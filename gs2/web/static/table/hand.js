// Cards in a hand: in columns by rank or sets, or in rows by suit; chosen by mouse, finger or keyboard.

import { cardFace, cardWords, letterOf } from "gs2/cards.js";
import { clear, h } from "gs2/dom.js";
import { say } from "gs2/words.js";

/** @typedef {"rank" | "sets" | "suit" | "moves"} Order moves: those that shed the hand soonest, as the server finds them */

/**
 * Return a hand in groups, the highest first: columns of equal rank, or rows of equal suit.
 * @param {string[]} cards
 * @param {Order} order
 * @param {{height: (card: string) => number, suits: string, apart?: (card: string) => string | null}} how height: of a
 *   card. suits: the first before the others. apart: names the group of cards that stand before all others
 */
export function groups(cards, order, { height, suits, apart = () => null }) {
  const place = (card) => suits.indexOf(card[0]);
  const found = new Map();
  for (const card of [...cards].sort((a, b) => height(b) - height(a) || place(a) - place(b))) {
    const key = apart(card) ?? (order === "suit" ? card[0] : letterOf(card));
    found.set(key, [...(found.get(key) ?? []), card]);
  }
  const list = [...found.values()]; // by height, which stays among equals
  const first = (group) => apart(group[0]) !== null;
  if (order === "sets") list.sort((a, b) => first(b) - first(a) || (first(a) ? 0 : b.length - a.length));
  if (order === "suit") list.sort((a, b) => first(b) - first(a) || place(a[0]) - place(b[0]));
  return list;
}

/**
 * Return the moves of a hand without the cards that were played since; null if it holds a card of no move.
 * @param {string[][]} moves
 * @param {string[]} cards
 */
export function movesLeft(moves, cards) {
  const left = [...cards];
  const taken = moves.map((move) => move.filter((card) => {
    const at = left.indexOf(card);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }));
  return left.length > 0 ? null : taken.filter((move) => move.length > 0);
}

/** A hand whose cards can be chosen. Tells `chosen(cards)` after every change, `play()` at Enter, `arrange()` for its moves. */
export class Hand {
  /**
   * @param {{chosen: (cards: string[]) => void, play: () => void, arrange: () => void}} told
   */
  constructor(told) {
    this.told = told;
    this.element = h("div", { class: "hand cards-down", role: "group", "aria-label": say("table.hand") });
    /** @type {Set<string>} keys of chosen cards: the name and which of its copies */
    this.picked = new Set();
    this.shown = "";
    /** @type {string[]} */
    this.held = [];
    /** @type {string[][]} as the server laid the hand out at last */
    this.moves = [];
    /** @type {any} how the hand was shown at last */
    this.how = { order: "rank" };
    this.drag = null;
    this.focus = null;
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("pointermove", (event) => this.over(event));
    for (const end of ["pointerup", "pointercancel"]) this.element.addEventListener(end, () => this.release());
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focusin", (event) => {
      this.focus = event.target.dataset?.key ?? this.focus;
      this.rove();
    });
  }

  /** Names of the chosen cards. */
  get cards() {
    return [...this.picked].map((key) => key.split("#")[0]);
  }

  /**
   * Show these cards; those chosen before stay chosen if they are still there.
   * @param {string[]} cards
   * @param {{face: any, round: any, order: Order}} how face: of the game
   */
  show(cards, how) {
    const { face, round, order } = how;
    const laid = order === "moves" ? movesLeft(this.moves, cards) : null;
    const shown = JSON.stringify([cards, round.level, round.suits, order, laid, document.documentElement.lang]);
    if (shown === this.shown) return;
    const news = order !== this.how.order || JSON.stringify(cards) !== JSON.stringify(this.held);
    Object.assign(this, { shown, how, held: cards });
    if (order === "moves" && laid === null && news) this.told.arrange(); // by rank until the answer comes
    const hadFocus = this.element.contains(document.activeElement);
    const copies = new Map();
    const before = this.picked.size;
    const rows = (laid ?? face.groups(cards, round, order === "moves" ? "rank" : order)).map((group) =>
      h("div", { class: "hand-group" }, group.map((name) => {
        const copy = (copies.get(name) ?? 0) + 1;
        copies.set(name, copy);
        return this.card(name, `${name}#${copy}`, face.isWild(name, round));
      })),
    );
    this.relabel();
    this.element.classList.toggle("rows", order === "suit");
    this.element.classList.toggle("moves", laid !== null);
    this.element.style.setProperty("--groups", String(rows.length));
    clear(this.element, rows);
    const keys = new Set(this.buttons().map((button) => button.dataset.key));
    this.picked = new Set([...this.picked].filter((key) => keys.has(key)));
    this.mark();
    if (!keys.has(this.focus)) this.focus = this.buttons()[0]?.dataset.key ?? null;
    this.rove();
    if (hadFocus) this.button(this.focus)?.focus();
    if (this.picked.size !== before) this.told.chosen(this.cards);
  }

  /** Name the hand in the language now chosen. */
  relabel() {
    this.element.setAttribute("aria-label", say("table.hand"));
  }

  /** Take the moves that the server laid the hand out by. */
  arranged(moves) {
    this.moves = moves;
    this.show(this.held, this.how);
  }

  card(name, key, wild) {
    const face = cardFace(name, { wild });
    const label = face.getAttribute("aria-label") ?? cardWords(name);
    face.setAttribute("aria-hidden", "true");
    face.removeAttribute("aria-label");
    face.removeAttribute("role");
    return h("button", { type: "button", class: "hand-card", "aria-pressed": "false", "aria-label": label, "data-key": key }, face);
  }

  /** @returns {HTMLButtonElement[]} */
  buttons() {
    return [...this.element.querySelectorAll("button")];
  }

  button(key) {
    return this.buttons().find((button) => button.dataset.key === key);
  }

  /** Choose exactly these cards, by name. */
  choose(cards) {
    const wanted = new Map();
    for (const card of cards) wanted.set(card, (wanted.get(card) ?? 0) + 1);
    this.picked = new Set();
    for (const button of this.buttons()) {
      const name = button.dataset.key.split("#")[0];
      if ((wanted.get(name) ?? 0) > 0) {
        wanted.set(name, wanted.get(name) - 1);
        this.picked.add(button.dataset.key);
      }
    }
    this.changed();
  }

  toggle(key, on = !this.picked.has(key)) {
    if (on === this.picked.has(key)) return;
    if (on) this.picked.add(key);
    else this.picked.delete(key);
    this.changed();
  }

  changed() {
    this.mark();
    this.told.chosen(this.cards);
  }

  mark() {
    for (const button of this.buttons()) button.setAttribute("aria-pressed", String(this.picked.has(button.dataset.key)));
  }

  rove() {
    for (const button of this.buttons()) button.tabIndex = button.dataset.key === this.focus ? 0 : -1;
  }

  // --- mouse and finger: what the first card becomes, all the others become that are drawn over ---

  press(event) {
    const key = event.target.closest?.("button")?.dataset.key;
    if (!key || event.button > 0) return;
    this.drag = { on: !this.picked.has(key), touched: new Set([key]) };
    if (event.target.hasPointerCapture?.(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
    this.toggle(key, this.drag.on);
  }

  over(event) {
    if (!this.drag) return;
    if (event.buttons === 0) return this.release();
    const key = document.elementFromPoint(event.clientX, event.clientY)?.closest("button")?.dataset.key;
    if (!key || !this.button(key) || this.drag.touched.has(key)) return;
    this.drag.touched.add(key);
    this.toggle(key, this.drag.on);
  }

  release() {
    this.drag = null;
  }

  click(event) {
    // detail 0: pressed by keyboard or by an assistive tool, with no pointer before
    const key = event.target.closest?.("button")?.dataset.key;
    if (key && event.detail === 0) this.toggle(key);
  }

  // --- keyboard ---

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.element.contains(event.target) ? event.target.closest("button") : null;
    if (!at) return;
    const next = this.neighbour(at, event.key);
    if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!event.repeat) this.told.play();
    }
  }

  neighbour(at, key) {
    const all = this.buttons();
    if (key === "Home") return all[0];
    if (key === "End") return all[all.length - 1];
    const rows = this.element.matches(".rows, .moves");
    const along = rows ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    const within = rows ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const group = [...at.parentElement.children];
    const place = group.indexOf(at);
    if (within.includes(key)) return group[place + (key === within[0] ? -1 : 1)] ?? at;
    if (!along.includes(key)) return null;
    const other = key === along[0] ? at.parentElement.previousElementSibling : at.parentElement.nextElementSibling;
    if (!other) return at;
    const cards = other.children;
    // columns hang together at their lower ends, rows at their left
    const index = rows ? place : cards.length - (group.length - place);
    return cards[Math.max(0, Math.min(cards.length - 1, index))];
  }

  /** Put the keyboard on the hand. */
  enter() {
    (this.button(this.focus) ?? this.buttons()[0])?.focus();
  }
}

/**
 * Return cards side by side, each over the one before.
 * @param {string[]} cards
 * @param {(card: string) => boolean} isWild
 */
export function fan(cards, isWild) {
  return h("span", { class: cards.length > 7 ? "fan many" : "fan" }, cards.map((card) => cardFace(card, { wild: isWild(card) })));
}
