// One's own seat: the hand, what the chosen cards make, and the buttons that play them.

import { cardText, isCard, kindWords, moveWords } from "gs2/cards.js";
import { clear, h } from "gs2/dom.js";
import { Hand, ORDERS } from "gs2/hand.js";
import { keep, kept } from "gs2/store.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";

/** Types of moves that beat others out of turn. */
export const BOMBS = ["Bomb", "StraightFlush", "FourKings"];

/** Return what a wild card stands for, for people: "H5 as C6" is "♥5 = ♣6". */
function wildText(text) {
  return text
    .replace(/\b(SB|HR|[SHCD][2-9TJQKA])\b/g, (name) => (isCard(name) ? cardText(name) : name))
    .replace(/ as T\b/g, " as 10")
    .replaceAll(" as ", " = ");
}

/** Return what the button says that plays a move, pays a card or returns one. */
function playWords(move, stage) {
  return stage === "play" ? say("table.play.move", { move: moveWords(move) }) : moveWords([stage, stage, move[2]]);
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

/** The lower part of a table: what a person who sits there sees and does. */
export class OwnSeat {
  /**
   * @param {{send: (message: any) => boolean, complain: (text: string) => void, hint: () => void}} told
   *   send: to the server; false without a connection. hint: asked for one.
   */
  constructor(told) {
    this.told = told;
    this.state = null;
    this.version = -1;
    /** What the server said of the chosen cards; null while it is asked. */
    this.fits = null;
    this.choice = 0;
    this.asked = 0;
    this.wantPlay = false;
    /** Whether the chosen cards are on their way to the server. */
    this.sent = false;
    this.suggestions = null;
    /** Whether the next suggestions are for playing the first of them at once. */
    this.alone = false;
    this.order = ORDERS.includes(kept("order")) ? kept("order") : "rank";
    this.hand = new Hand({ chosen: () => this.select(), play: () => this.play(), arrange: () => this.told.send({ type: "arrange" }, { quietly: true }) });
    this.element = h("div", { class: "own" });
    this.build();
  }

  /** Make the buttons, in the language now chosen. */
  build() {
    const button = (name, act, more = {}) => h("button", { type: "button", ...more, on: { click: act } }, say(name));
    this.parts = {
      choice: h("div", { class: "choice", "aria-live": "polite" }),
      pass: button("table.pass", () => this.pass(), { class: "pass-button", "aria-keyshortcuts": "p" }),
      suggest: button("table.suggest", () => this.suggest(), { "aria-keyshortcuts": "s" }),
      play: button("table.play", () => this.play(), { class: "primary play" }),
      hint: button("table.hint", () => this.told.hint(), { "aria-keyshortcuts": "h" }),
      undo: button("table.undo", (event) => this.undo(event), { "aria-keyshortcuts": "u" }),
      sort: h("button", { type: "button", "aria-keyshortcuts": "o", on: { click: () => this.sort() } }),
      next: button("result.next", () => this.next(), { class: "primary next", "aria-keyshortcuts": "n" }),
    };
    const { choice, ...buttons } = this.parts;
    this.hand.relabel();
    clear(this.element, choice, h("div", { class: "actions" }, Object.values(buttons)), this.hand.element);
  }

  /** What is asked of this seat now; null if nothing is. */
  get turn() {
    const { state } = this;
    return state !== null && state.waiting === null && !state.match.over ? state.turn.you : null;
  }

  /** Whether this seat has nothing to do before the next round. */
  get between() {
    return this.state.waiting !== null || this.state.match.over;
  }

  /**
   * Show a state.
   * @param {any} state
   * @param {boolean} covered whether the hand of the next round is not to be seen yet
   */
  show(state, covered) {
    const you = state.table.you;
    const news = state.version !== this.version;
    this.state = state;
    this.version = state.version;
    this.element.hidden = you === null;
    if (you === null) return;
    if (news) {
      this.suggestions = null;
      this.fits = null;
      if (this.sent) this.hand.picked.clear(); // or the other copy of a card would count as chosen
      this.sent = false;
    }
    this.hand.show(covered ? [] : (state.round.hands[you] ?? []), state.round.level, this.order);
    this.buttons();
    if (this.fits === null) this.select();
    else this.drawChoice();
  }

  buttons() {
    const { parts: p, state, turn } = this;
    for (const name of ["pass", "suggest", "play", "hint", "sort"]) p[name].hidden = this.between;
    p.pass.disabled = !turn?.pass;
    p.suggest.disabled = p.hint.disabled = turn === null;
    p.undo.disabled = !state.table.undo;
    p.next.hidden = state.waiting === null;
    p.sort.textContent = say("table.sort", { how: say(`table.sort.${this.order}`) });
    this.element.classList.toggle("turn", turn !== null);
  }

  // --- what the chosen cards make ---

  /** Ask what the chosen cards make. */
  select() {
    const { cards } = this.hand;
    this.fits = null;
    this.choice = 0;
    this.asked += 1; // an answer under way is about other cards
    if (this.turn === null || cards.length === 0) this.wantPlay = false;
    else if (this.told.send({ type: "select", cards, id: this.asked }, { quietly: true })) return;
    this.drawChoice();
  }

  /** Take the server's answer about the chosen cards. */
  fitted(data) {
    if (data.id !== this.asked) return;
    this.fits = data;
    const suggestion = this.suggestions?.moves[this.suggestions.at];
    this.choice = Math.max(0, data.moves.findIndex((one) => one.index === suggestion?.index));
    this.drawChoice();
    if (this.wantPlay) this.play();
  }

  drawChoice() {
    const { choice, play } = this.parts;
    const { moves = [], why = null } = this.fits ?? {};
    play.setAttribute("aria-disabled", String(moves.length === 0));
    play.textContent = moves.length ? playWords(moves[this.choice].move, this.turn?.stage) : say("table.play");
    if (this.between) clear(choice);
    else if (moves.length > 1) clear(choice, this.placements(moves));
    else if (moves.length === 1) clear(choice, moveWords(moves[0].move), moves[0].wild && h("span", { class: "quiet" }, ` (${wildText(moves[0].wild)})`));
    else if (why !== null) clear(choice, h("span", { class: "why" }, whyWords(why, this.turn?.stage)));
    else clear(choice, h("span", { class: "quiet" }, this.invitation()));
  }

  invitation() {
    if (this.turn !== null) return say("table.pick");
    const hand = this.state.round.hands[this.state.table.you] ?? [];
    return say(hand.length > 0 ? "table.wait" : "table.done");
  }

  /** Several moves can be made of the same cards: let the person say which. */
  placements(moves) {
    const radio = (i) => h("input", { type: "radio", name: "placement", value: String(i), checked: i === this.choice, on: { change: () => this.place(i) } });
    return h("fieldset", { class: "placements" },
      h("legend", {}, say("table.choose")),
      moves.map((one, i) => h("label", {}, radio(i), ` ${moveWords(one.move)}`, one.wild && h("span", { class: "quiet" }, ` ${wildText(one.wild)}`))));
  }

  place(i) {
    this.choice = i;
    this.parts.play.textContent = playWords(this.fits.moves[i].move, this.turn?.stage);
  }

  // --- what a person does ---

  play() {
    this.wantPlay = false;
    if (this.turn === null) this.told.complain(say("why.not_your_turn"));
    else if (this.hand.cards.length === 0) this.told.complain(say("why.none_selected"));
    else if (this.fits === null) this.wantPlay = true; // as soon as the answer is there
    else if (this.fits.moves.length === 0) this.told.complain(whyWords(this.fits.why ?? { code: "no_combination" }, this.turn.stage));
    else this.sent = this.told.send({ type: "play", index: this.fits.moves[this.choice].index, version: this.version });
  }

  pass() {
    if (this.turn === null) this.told.complain(say("why.not_your_turn"));
    else if (!this.turn.pass) this.told.complain(say("why.must_lead"));
    else this.told.send({ type: "pass", version: this.version });
  }

  /** Take the last choice back; of a double click only the first counts, for nothing brings a choice back again. */
  undo({ detail = 0 } = {}) {
    if (detail < 2 && this.state.table.undo) this.told.send({ type: "undo", version: this.version });
  }

  next() {
    if (this.state.waiting !== null) this.told.send({ type: "next", version: this.version });
  }

  sort() {
    this.order = ORDERS[(ORDERS.indexOf(this.order) + 1) % ORDERS.length];
    keep("order", this.order);
    this.hand.show(this.hand.held, this.state.round.level, this.order);
    this.buttons();
  }

  /** Choose the next of the moves that can be played. */
  suggest() {
    if (this.turn === null) return;
    if (this.suggestions === null) this.told.send({ type: "suggest" });
    else this.suggested({ ...this.suggestions, at: this.suggestions.at + 1 });
  }

  /** Take the turn in the person's place, by what the server suggests. */
  takeOver() {
    if (this.turn !== null) this.alone = this.told.send({ type: "suggest" }, { quietly: true });
  }

  /** Play the first suggestion; pass instead of a bomb, of beating the partner, and of nothing. */
  playFirst(moves) {
    this.alone = false;
    const { greater } = this.state.round;
    const spare = moves.length === 0 || BOMBS.includes(moves[0].move[0]) || greater?.seat === (this.state.table.you + 2) % 4;
    if (this.turn.pass && spare) this.pass();
    else if (moves.length > 0) this.sent = this.told.send({ type: "play", index: moves[0].index, version: this.version });
    return null;
  }

  /**
   * Choose one of the moves that the server suggests; return it.
   * @param {{since: number, moves: {index: number, move: any[]}[], at?: number}} data
   * @param {number} [index] the choice wanted, if there is one
   */
  suggested(data, index) {
    if (this.turn === null || data.since !== this.state.since) return null; // what others do meanwhile takes nothing from it
    if (this.alone) return this.playFirst(data.moves);
    if (data.moves.length === 0) {
      this.hand.choose([]);
      clear(this.parts.choice, h("span", { class: "nothing" }, say("table.nothing")));
      return null;
    }
    const wanted = Math.max(0, data.moves.findIndex((one) => one.index === index));
    this.suggestions = { ...data, at: (data.at ?? wanted) % data.moves.length };
    const { move } = this.suggestions.moves[this.suggestions.at];
    this.hand.choose(move[2]);
    return move;
  }
}
