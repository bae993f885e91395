// One's own part of a table of a game: the hand, what the chosen cards make, and the buttons that play them.

import { BOMBS, cardsKey, cardsOfMove, climbGroups, moveKey, playWords, suggestOrder, tooLowKey } from "gs2/climb-cards.js";
import { clear, h } from "gs2/dom.js";
import { asked } from "gs2/game-felt.js";
import { Hand } from "gs2/hand.js";
import { keep, kept } from "gs2/store.js";
import { spokenWords } from "gs2/spoken.js";
import { say } from "gs2/words.js";

const ORDERS = { doudizhu: ["rank", "sets", "moves"], big2: ["rank", "suit", "sets", "moves"] };

/** Moves that stake nothing, in the words of the games. */
const CAUTIOUS = ["pass", "call pass", "check", "call"];

/** What a person who sits at a table of a game sees and does. */
export class GameMine {
  /**
   * @param {{send: (message: any, how?: {quietly: boolean}) => boolean, complain: (text: string) => void, hint: () => void, seats: () => void}} told
   */
  constructor(told) {
    this.told = told;
    this.state = null;
    this.version = -1;
    this.suggested = -1;
    this.sent = false;
    /** @type {Map<string, number>} place of each legal move by its cards */
    this.byCards = new Map();
    /** @type {Map<string, string | null>} what cards make that are no legal move, as the server says: a kind, or nothing */
    this.makes = new Map();
    this.order = kept("game-order", "rank");
    this.hand = new Hand(
      { chosen: () => this.drawChoice(), play: () => this.play(), arrange: () => this.told.send({ type: "arrange" }, { quietly: true }) },
      { groups: climbGroups, isWild: () => false });
    this.element = h("div", { class: "own game-own" });
    this.build();
  }

  build() {
    const button = (name, act, more = {}) => h("button", { type: "button", ...more, on: { click: act } }, say(name));
    this.parts = {
      choice: h("div", { class: "choice", "aria-live": "polite" }),
      moves: h("div", { class: "word-moves", role: "group", "aria-label": say("games.moves") }),
      pass: button("climb.pass", () => this.pass(), { class: "pass-button", "aria-keyshortcuts": "p" }),
      suggest: button("table.suggest", () => this.suggest(), { "aria-keyshortcuts": "s" }),
      play: button("table.play", () => this.play(), { class: "primary play" }),
      next: button("games.next", () => this.next(), { class: "primary next", "aria-keyshortcuts": "n" }),
      hint: button("table.hint", () => this.told.hint(), { "aria-keyshortcuts": "h" }),
      undo: button("table.undo", (event) => this.undo(event), { "aria-keyshortcuts": "u" }),
      sort: h("button", { type: "button", "aria-keyshortcuts": "o", on: { click: () => this.sort() } }),
    };
    const { choice, moves, ...buttons } = this.parts;
    this.hand.relabel();
    clear(this.element, choice, moves, h("div", { class: "actions" }, Object.values(buttons)), this.hand.element);
    this.drawnMoves = "";
  }

  /** The legal moves if it is the person's turn; null if it is not. */
  get moves() {
    return this.state?.round.moves ?? null;
  }

  get cards() {
    return this.state?.round.cards ?? null;
  }

  get suits() {
    return this.cards?.suits ?? "";
  }

  /** Whether the moves are told by words: no cards are to be chosen. */
  get spoken() {
    return this.cards === null || (this.moves?.kinds?.every((kind) => kind === "call") ?? false);
  }

  show(state) {
    const news = state.version !== this.version;
    this.state = state;
    this.version = state.version;
    if (news) {
      this.suggested = -1;
      if (this.sent) this.hand.picked.clear();
      this.sent = false;
      this.byCards = new Map();
      if (!this.spoken) this.moves?.texts.forEach((text, i) => this.byCards.set(moveKey(text, this.suits), i));
    }
    this.hand.element.hidden = this.cards === null || state.round.over;
    if (this.cards !== null) this.hand.show(state.round.over ? [] : this.cards.hand, this.suits, this.way());
    this.buttons();
    this.drawMoves();
    this.drawChoice();
  }

  way() {
    const ways = ORDERS[this.cards?.kind] ?? ["rank"];
    return ways.includes(this.order) ? this.order : ways[0];
  }

  buttons() {
    const { parts: p, state, moves, spoken } = this;
    const { over } = state.round;
    for (const name of ["pass", "suggest", "play", "sort"]) p[name].hidden = over || this.cards === null || (spoken && moves !== null);
    p.hint.hidden = over;
    p.pass.disabled = !this.byCards.has("pass");
    p.suggest.disabled = p.hint.disabled = moves === null;
    p.undo.disabled = !state.table.undo;
    p.next.hidden = !over;
    p.sort.textContent = say("table.sort", { how: say(`table.sort.${this.way()}`) });
    this.element.classList.toggle("turn", moves !== null);
  }

  /** Draw the moves that are told by words. */
  drawMoves() {
    const { moves } = this;
    const texts = this.spoken && moves !== null ? moves.texts : [];
    const shown = JSON.stringify([texts, document.documentElement.lang]);
    if (shown === this.drawnMoves) return;
    const had = this.parts.moves.contains(document.activeElement);
    this.drawnMoves = shown;
    clear(this.parts.moves, texts.map((text, i) => h("button", { type: "button", class: "word-move", on: { click: () => this.take(i) } }, this.spokenWords(text))));
    if (had) this.parts.moves.querySelector("button")?.focus();
  }

  /** Return a move that is told by words, as the page says it. */
  spokenWords(text) {
    if (text.startsWith("call ")) return say(`games.call.${text.slice(5) === "pass" ? 0 : text.slice(5)}`);
    return spokenWords(text);
  }

  /** Return the move that the chosen cards make: its place, or null. */
  get chosen() {
    const { cards } = this.hand;
    return cards.length && !this.spoken ? (this.byCards.get(cardsKey(cards, this.suits)) ?? null) : null;
  }

  /** Return a move in words by its place. */
  wordsOf(i) {
    const { texts, kinds } = this.moves;
    if (this.spoken) return this.spokenWords(texts[i]);
    return texts[i] === "pass" ? say("climb.pass") : playWords({ cards: this.cardsOf(i), kind: kinds[i] });
  }

  cardsOf(i) {
    const text = this.moves.texts[i];
    return this.spoken || text === "pass" ? [] : cardsOfMove(text, this.cards.hand, this.suits);
  }

  /** Return why the chosen cards cannot be played, in words; "" while the server is asked what they make. */
  why() {
    const { cards } = this.hand;
    if (cards.length === 0) return say("why.none_selected");
    const { beat, opens } = this.cards;
    if (opens?.length && !opens.every((card) => cards.includes(card))) return asked(this.state);
    if (!beat) return say("why.no_combination");
    const key = cards.join(" ");
    if (!this.makes.has(key) && this.told.send({ type: "select", cards }, { quietly: true })) return "";
    return this.makes.get(key) === null ? say("why.no_combination") : say(tooLowKey(this.cards), { move: playWords(beat) });
  }

  /** Take what the server says that cards make. */
  made({ cards, kind }) {
    this.makes.set(cards.join(" "), kind);
    this.drawChoice();
  }

  drawChoice() {
    if (this.state === null) return;
    const { choice, play } = this.parts;
    const { chosen, moves } = this;
    play.setAttribute("aria-disabled", String(chosen === null));
    play.textContent = chosen === null ? say("table.play") : say("table.play.move", { move: this.wordsOf(chosen) });
    const quiet = (key) => h("span", { class: "quiet" }, say(key));
    if (this.state.round.over || this.cards === null) clear(choice);
    else if (moves === null) clear(choice, quiet(this.cards.hand.length ? "table.wait" : "table.done"));
    else if (this.spoken) clear(choice, quiet("games.yours.call"));
    else if (chosen !== null) clear(choice, this.wordsOf(chosen));
    else if (this.hand.cards.length) clear(choice, h("span", { class: "why" }, this.why()));
    else if (moves.texts.length === 1 && this.byCards.has("pass")) clear(choice, h("span", { class: "nothing" }, say("table.nothing")));
    else clear(choice, quiet("table.pick"));
  }

  // --- what a person does ---

  take(i, cards = []) {
    this.sent = this.told.send({ type: "play", index: i, version: this.version, cards });
  }

  play() {
    if (this.state?.round.over) return;
    if (this.moves === null) this.told.complain(say("why.not_your_turn"));
    else if (this.spoken) this.parts.moves.querySelector("button")?.focus();
    else if (this.chosen === null) this.complainWhy();
    else this.take(this.chosen, this.suits ? [] : this.hand.cards);
  }

  complainWhy() {
    const why = this.why();
    if (why) this.told.complain(why); // else it is told beside the buttons, once it is known
  }

  pass() {
    if (this.moves === null) this.told.complain(say("why.not_your_turn"));
    else if (!this.byCards.has("pass")) this.told.complain(say(this.cards?.beat ? "games.why.must" : "why.must_lead"));
    else this.take(this.byCards.get("pass"));
  }

  /** Take the last choice back; of a double click only the first counts, for nothing brings a choice back again. */
  undo({ detail = 0 } = {}) {
    if (detail < 2 && this.state.table.undo) this.told.send({ type: "undo", version: this.version });
  }

  next() {
    if (this.state.round.over) this.told.send({ type: "round", version: this.version });
    else this.told.seats();
  }

  sort() {
    const ways = ORDERS[this.cards?.kind] ?? ["rank"];
    this.order = ways[(ways.indexOf(this.way()) + 1) % ways.length];
    keep("game-order", this.order);
    this.show(this.state);
  }

  /** Choose the next of the moves that can be played. */
  suggest() {
    if (this.moves === null || this.spoken) return;
    const places = this.ordered();
    if (places.length === 0) return;
    this.suggested = (this.suggested + 1) % places.length;
    this.hand.choose(this.cardsOf(places[this.suggested]));
  }

  /** Return the places of the moves that play cards, as they are suggested. */
  ordered() {
    const places = this.moves.texts.map((_, i) => i).filter((i) => this.moves.texts[i] !== "pass");
    const order = suggestOrder(places.map((i) => ({ cards: this.cardsOf(i), kind: this.moves.kinds[i] })), this.cards.hand);
    return order.map((at) => places[at]);
  }

  /** Take the turn in the person's place: the first suggestion; a pass instead of a bomb, of beating the partner, and of nothing. */
  takeOver() {
    if (this.moves === null) return;
    const { texts, kinds } = this.moves;
    const pass = texts.findIndex((text) => CAUTIOUS.includes(text));
    if (this.spoken) {
      this.take(Math.max(0, pass));
      return;
    }
    const [first] = this.ordered();
    const { beat, landlord } = this.cards;
    const partner = beat && landlord !== undefined && ![beat.seat, this.state.table.you].includes(landlord);
    const spare = first === undefined || BOMBS.includes(kinds[first]) || partner;
    this.take(pass >= 0 && spare ? pass : first);
  }

  /** Choose the cards of a move, or put the keyboard on its button. */
  choose(i) {
    if (this.moves === null) return;
    if (this.spoken) this.parts.moves.querySelectorAll("button")[i]?.focus();
    else this.hand.choose(this.cardsOf(i));
  }
}
