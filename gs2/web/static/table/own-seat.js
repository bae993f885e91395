// One's own seat: the hand, what the chosen cards make, and the buttons that play them.

import { moveWords } from "gs2/cards.js";
import { clear, h } from "gs2/dom.js";
import { between } from "gs2/felt.js";
import { Hand } from "gs2/hand.js";
import { keep, kept } from "gs2/store.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";

/** Moves that stake nothing, in the words of the games. */
const CAUTIOUS = ["pass", "call pass", "check", "call"];

/** Return what the button says that plays a move, pays a card or returns one. */
function playWords(move, stage) {
  return stage === "play" ? say("table.play.move", { move: moveWords(move) }) : moveWords([stage, stage, move[2]]);
}

/** The lower part of a table: what a person who sits there sees and does. */
export class OwnSeat {
  /**
   * @param {{send: (message: any) => boolean, complain: (text: string) => void, hint: () => void, next: () => void}} told
   *   send: to the server; false without a connection. hint, next: asked for a hint, or the next round.
   */
  constructor(told) {
    this.told = told;
    this.state = null;
    this.face = null;
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
    this.order = kept("order", "rank");
    this.hand = new Hand({ chosen: () => this.select(), play: () => this.play(), arrange: () => this.told.send({ type: "arrange" }, { quietly: true }) });
    this.element = h("div", { class: "own" });
    this.build();
  }

  /** Make the buttons, in the language now chosen. */
  build() {
    const button = (name, act, more = {}) => h("button", { type: "button", ...more, on: { click: act } }, say(name));
    this.parts = {
      choice: h("div", { class: "choice", "aria-live": "polite" }),
      moves: h("div", { class: "word-moves", role: "group", "aria-label": say("games.moves") }),
      pass: button("move.PASS", () => this.pass(), { class: "pass-button", "aria-keyshortcuts": "p" }),
      suggest: button("table.suggest", () => this.suggest(), { "aria-keyshortcuts": "s" }),
      play: button("table.play", () => this.play(), { class: "primary play" }),
      hint: button("table.hint", () => this.told.hint(), { "aria-keyshortcuts": "h" }),
      undo: button("table.undo", (event) => this.undo(event), { "aria-keyshortcuts": "u" }),
      sort: h("button", { type: "button", "aria-keyshortcuts": "o", on: { click: () => this.sort() } }),
      next: button("result.next", () => this.told.next(), { class: "primary next", "aria-keyshortcuts": "n" }),
    };
    const { choice, moves, ...buttons } = this.parts;
    this.hand.relabel();
    this.drawnMoves = "";
    clear(this.element, choice, moves, h("div", { class: "actions" }, Object.values(buttons)), this.hand.element);
  }

  /** What is asked of this seat now; null if nothing is. */
  get turn() {
    return this.state !== null && !between(this.state) ? this.state.turn.you : null;
  }

  /** The moves that are told by words: no cards are to be chosen. Null where cards are. */
  get spoken() {
    return this.turn?.moves ?? null;
  }

  /**
   * Show a state.
   * @param {any} state
   * @param {any} face of its game
   * @param {boolean} covered whether the hand of the next round is not to be seen yet
   */
  show(state, face, covered) {
    const { round, table: { you } } = state;
    const news = state.version !== this.version;
    Object.assign(this, { state, face, version: state.version });
    this.element.hidden = you === null;
    if (you === null) return;
    if (news) {
      this.suggestions = null;
      this.fits = null;
      if (this.sent) this.hand.picked.clear(); // or the other copy of a card would count as chosen
      this.sent = false;
    }
    this.hand.element.hidden = round.hands === null || round.over;
    this.hand.show(covered || round.over ? [] : (round.hands?.[you] ?? []), { face, round, order: this.way });
    this.buttons();
    this.drawMoves();
    if (this.fits === null) this.select();
    else this.drawChoice();
  }

  /** The ways to lay out the hand; by suit where suits decide. */
  get ways() {
    const { face, state } = this;
    return face.orders.filter((order) => order !== "suit" || state.round.suits !== "");
  }

  get way() {
    return this.ways.includes(this.order) ? this.order : this.ways[0];
  }

  buttons() {
    const { parts: p, state, turn } = this;
    const idle = between(state);
    for (const name of ["pass", "suggest", "play", "sort"]) p[name].hidden = idle || state.round.hands === null || this.spoken !== null;
    p.hint.hidden = idle;
    p.pass.disabled = (turn?.pass ?? null) === null;
    p.suggest.disabled = p.hint.disabled = turn === null;
    p.undo.disabled = !state.table.undo;
    p.next.hidden = state.waiting === null;
    p.sort.textContent = this.way ? say("table.sort", { how: say(`table.sort.${this.way}`) }) : "";
    this.element.classList.toggle("turn", turn !== null);
  }

  /** Draw the moves that are told by words. */
  drawMoves() {
    const texts = this.spoken ?? [];
    const shown = JSON.stringify([texts, document.documentElement.lang]);
    if (shown === this.drawnMoves) return;
    const had = this.parts.moves.contains(document.activeElement);
    this.drawnMoves = shown;
    clear(this.parts.moves, texts.map((text, i) => h("button", { type: "button", class: "word-move", on: { click: () => this.take(i) } }, this.face.spoken(text))));
    if (had) this.enter();
  }

  // --- what the chosen cards make ---

  /** Ask what the chosen cards make. */
  select() {
    const { cards } = this.hand;
    this.fits = null;
    this.choice = 0;
    this.asked += 1; // an answer under way is about other cards
    if (this.turn === null || this.spoken !== null || cards.length === 0) this.wantPlay = false;
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

  whyWords() {
    return this.face.whyWords(this.fits.why ?? { code: "no_combination" }, this.turn?.stage);
  }

  drawChoice() {
    const { choice, play } = this.parts;
    const { moves = [], why = null } = this.fits ?? {};
    play.setAttribute("aria-disabled", String(moves.length === 0));
    play.textContent = moves.length ? playWords(moves[this.choice].move, this.turn?.stage) : say("table.play");
    if (between(this.state) || this.state.round.hands === null) clear(choice);
    else if (moves.length > 1) clear(choice, this.placements(moves));
    else if (moves.length === 1) clear(choice, moveWords(moves[0].move), moves[0].wild && h("span", { class: "quiet" }, ` (${this.face.wildText(moves[0].wild)})`));
    else if (why !== null) clear(choice, h("span", { class: "why" }, this.whyWords()));
    else if (this.turn?.count === 1 && this.turn.pass === 0) clear(choice, h("span", { class: "nothing" }, say("table.nothing")));
    else clear(choice, h("span", { class: "quiet" }, this.invitation()));
  }

  invitation() {
    if (this.spoken !== null) return say("games.yours.call");
    if (this.turn !== null) return say("table.pick");
    const hand = this.state.round.hands[this.state.table.you] ?? [];
    return say(hand.length > 0 ? "why.not_your_turn" : "table.done");
  }

  /** Several moves can be made of the same cards: let the person say which. */
  placements(moves) {
    const radio = (i) => h("input", { type: "radio", name: "placement", value: String(i), checked: i === this.choice, on: { change: () => this.place(i) } });
    return h("fieldset", { class: "placements" },
      h("legend", {}, say("table.choose")),
      moves.map((one, i) => h("label", {}, radio(i), ` ${moveWords(one.move)}`, one.wild && h("span", { class: "quiet" }, ` ${this.face.wildText(one.wild)}`))));
  }

  place(i) {
    this.choice = i;
    this.parts.play.textContent = playWords(this.fits.moves[i].move, this.turn?.stage);
  }

  // --- what a person does ---

  take(index, cards = []) {
    this.sent = this.told.send({ type: "play", index, version: this.version, cards });
  }

  play() {
    this.wantPlay = false;
    if (between(this.state)) return;
    if (this.turn === null) this.told.complain(say("why.not_your_turn"));
    else if (this.spoken !== null) this.enter();
    else if (this.hand.cards.length === 0) this.told.complain(say("why.none_selected"));
    else if (this.fits === null) this.wantPlay = true; // as soon as the answer is there
    else if (this.fits.moves.length === 0) this.told.complain(this.whyWords());
    else this.take(this.fits.moves[this.choice].index, this.hand.cards);
  }

  pass() {
    const { turn } = this;
    if (turn === null) this.told.complain(say("why.not_your_turn"));
    else if (turn.pass === null) this.told.complain(say(this.state.round.greater ? "games.why.must" : "why.must_lead"));
    else this.take(turn.pass);
  }

  /** Take the last choice back; of a double click only the first counts, for nothing brings a choice back again. */
  undo({ detail = 0 } = {}) {
    if (detail < 2 && this.state.table.undo) this.told.send({ type: "undo", version: this.version });
  }

  sort() {
    this.order = this.ways[(this.ways.indexOf(this.way) + 1) % this.ways.length];
    keep("order", this.order);
    this.hand.show(this.hand.held, { ...this.hand.how, order: this.order });
    this.buttons();
  }

  /** Put the keyboard on the hand, or on the first move that is told by words. */
  enter(place = 0) {
    if (this.spoken !== null) this.parts.moves.querySelectorAll("button")[place]?.focus();
    else this.hand.enter();
  }

  /** Choose the next of the moves that can be played. */
  suggest() {
    if (this.turn === null || this.spoken !== null) return;
    this.alone = false; // what was asked for the person may have had no answer
    if (this.suggestions === null) this.told.send({ type: "suggest" });
    else this.suggested({ ...this.suggestions, at: this.suggestions.at + 1 });
  }

  /** Take the turn in the person's place: what stakes nothing, or what the server suggests. */
  takeOver() {
    if (this.spoken !== null) this.take(Math.max(0, this.spoken.findIndex((text) => CAUTIOUS.includes(text))));
    else if (this.turn !== null) this.alone = this.told.send({ type: "suggest" }, { quietly: true });
  }

  /** Play the first suggestion; pass instead of a bomb, of beating the partner, and of nothing. */
  playFirst(moves) {
    this.alone = false;
    const { face, state, turn } = this;
    const spare = moves.length === 0 || face.bombs.includes(moves[0].move[0]) || face.partner(state);
    if (turn.pass !== null && spare) this.take(turn.pass);
    else if (moves.length > 0) this.take(moves[0].index);
  }

  /**
   * Choose one of the moves that the server suggests.
   * @param {{since: number, moves: {index: number, move: any[]}[], at?: number}} data
   */
  suggested(data) {
    if (this.turn === null || data.since !== this.state.since) return; // what others do meanwhile takes nothing from it
    if (this.alone) {
      this.playFirst(data.moves);
      return;
    }
    if (data.moves.length === 0) {
      this.hand.choose([]);
      clear(this.parts.choice, h("span", { class: "nothing" }, say("table.nothing")));
      return;
    }
    this.suggestions = { ...data, at: (data.at ?? 0) % data.moves.length };
    this.hand.choose(this.suggestions.moves[this.suggestions.at].move[2]);
  }
}
