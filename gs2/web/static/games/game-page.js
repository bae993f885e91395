// A table of a game on the page: what the server says of it becomes the page, what a person does goes there.

import { cardFace } from "gs2/cards.js";
import { BOMBS, playWords, sortedCards } from "gs2/climb-cards.js";
import { clear, h } from "gs2/dom.js";
import { asked, gameFelt, gameSeatName, gameSeatNames, outcomeWords, roleOf } from "gs2/game-felt.js";
import { GameMine } from "gs2/game-mine.js";
import { canPlay, gameTitle } from "gs2/games-lobby.js";
import { signed, tricks } from "gs2/felt.js";
import { hintTable } from "gs2/hint.js";
import { dialog } from "gs2/side.js";
import { ask, keep, kept, problemWords } from "gs2/store.js";
import { toldWords } from "gs2/spoken.js";
import { MOST_SAID, TablePage } from "gs2/table-page.js";
import { say } from "gs2/words.js";
import "gs2/games-words.js";

/** One table of a game. */
export class GamePage extends TablePage {
  /**
   * @param {HTMLElement} root
   * @param {string} id
   */
  constructor(root, id) {
    super(root, id);
    this.mine = new GameMine({
      send: (message, how) => this.send(message, how),
      complain: (text) => this.complain(text),
      hint: () => this.askHint(),
      seats: () => this.seatBox(),
    });
    this.open();
    this.load();
  }

  redraw() {
    this.mine.build();
    super.redraw();
  }

  async load() {
    try {
      this.games = (await ask("/api/offers")).games;
      if (this.state) this.drawHint();
    } catch {
      this.games = []; // the connection says what is wrong
    }
  }

  // --- the page ---

  build() {
    const p = (this.parts = {
      ...this.common("games.side"),
      standing: h("div", { class: "standing" }),
      score: h("div", { class: "score-place" }),
    });
    this.drawn = {};
    p.side.append(
      this.button("table.close", () => this.openSide(false), { class: "side-close" }),
      h("h2", {}, say("games.hint.title")), p.hint, p.counter,
      h("h2", {}, say("games.score")), p.score,
      h("h2", { class: "log-title" }, say("table.log")), p.log);
    const tools = h("div", { class: "tools" },
      this.sideButton("games.beside"),
      this.button("games.seats", () => this.seatBox()),
      this.button("table.options", () => this.optionsBox(this.paceTools())),
      h("a", { class: "button record", href: `${this.address}/record`, download: "" }, say("games.record")),
      this.button("table.help", () => this.helpBox(), { class: "for-keyboard" }));
    clear(this.root,
      h("h1", { class: "visually-hidden" }, say("games.title")),
      h("div", { class: "table game-table" },
        h("div", { class: "table-bar" }, p.standing, tools),
        p.banner,
        h("div", { class: "table-main" }, h("div", { class: "play-area" }, p.felt, p.clock, this.mine.element), p.side),
        p.said, p.error));
  }

  /** Return whether the table is there, and its key is in another browser. */
  taken(response) {
    return Boolean(response?.ok) && kept(this.seatKey) === "";
  }

  gone(foreign) {
    return [h("h1", {}, say(foreign ? "games.foreign" : "table.gone")), h("p", {}, h("a", { href: "#/games" }, say("games.back")))];
  }

  // --- what the server says ---

  hear(data) {
    if (data.type === "state") this.update(data);
    else if (data.type === "arranged") this.mine.hand.arranged(data.moves);
    else if (data.type === "hint") this.hinted(data);
    else if (data.type === "makes") this.mine.made(data);
    else if (data.type === "error") this.complain(problemWords(data.code, data.text));
  }

  update(state) {
    const before = this.state;
    this.state = state;
    this.show();
    if (before) this.announce(before, state);
    const { failure } = state.table;
    if (failure && failure !== before?.table.failure) this.complain(failure);
    if (state.round.over && before && !before.round.over) this.mine.parts.next.focus();
    else if (before?.round.over && !state.round.over) this.mine.hand.enter();
  }

  show() {
    const { state, root } = this;
    const { round, table } = state;
    root.classList.add("playing");
    root.classList.toggle("words-only", round.cards === null);
    root.dataset.version = String(state.version);
    this.part("standing", [table.game, state.number, table.seats, table.you, round.cards?.bombs, round.cards?.bid], () => this.standing());
    this.part("felt", [table.seats, table.you, round.turn, round.cards, round.words, round.over], () => gameFelt(state, this.fresh(round.cards?.plays ?? [])));
    this.part("log", [round.cards?.plays, round.cards?.calls, table.seats, round.words], () => this.log());
    this.part("score", [state.finished, state.players, state.rounds], () => this.scores());
    this.mine.show(state);
    this.clock.ask(this.mine.moves === null ? null : state.version);
    const seen = round.cards && [...round.cards.hand, ...round.cards.plays.flatMap(({ cards }) => cards)];
    this.count(round.cards?.deck ?? null, seen ?? []);
    this.drawHint();
    document.title = `${(round.over ? outcomeWords(state) : asked(state)) || say("games.title")} – gs2`;
  }

  standing() {
    const { state } = this;
    const { table } = state;
    return [
      h("b", {}, gameTitle(table.game)),
      h("span", {}, say("games.round", { n: state.number })),
      h("span", {}, say("games.score"), " ", h("b", {}, signed(table.seats[table.you].score))),
    ];
  }

  log() {
    const { state } = this;
    const { cards, words } = state.round;
    if (!cards) return h("p", {}, toldWords(words, gameSeatNames(state)));
    const suits = cards.suits ?? "";
    const who = (seat) => [h("span", { class: "log-who" }, gameSeatName(state, seat)), " "];
    const calls = (cards.calls ?? []).map(([seat, call]) => h("li", { class: "log-move" }, who(seat), say(`games.call.${call}`)));
    if (calls.length + cards.plays.length === 0) return h("p", { class: "quiet" }, say("table.log.empty"));
    return h("ol", { class: "log" },
      calls.length > 0 && h("li", { class: "log-trick" }, h("ol", { "aria-label": say("games.auction") }, calls)),
      tricks(cards.plays).map((trick) => h("li", { class: "log-trick" }, h("ol", { "aria-label": say("table.log.trick") }, trick.map((play) =>
        h("li", { class: "log-move" }, who(play.seat),
          play.cards.length === 0
            ? h("span", { class: "quiet" }, say("climb.pass"))
            : [h("span", { class: "visually-hidden" }, playWords(play)),
               h("span", { class: "log-cards", "aria-hidden": "true" }, sortedCards(play.cards, suits).map((card) => cardFace(card, { small: true })))]))))));
  }

  scores() {
    const { state } = this;
    if (state.rounds === 0) return h("p", { class: "quiet" }, say("games.score.none"));
    const totals = state.players.map((_, player) => state.table.seats.find((seat) => seat.player === player).score);
    const cell = (value) => h("td", { class: "number" }, signed(value));
    const name = (player) => {
      const seat = state.table.seats.findIndex((one) => one.player === player);
      return gameSeatName(state, seat);
    };
    return h("div", { class: "scroll score-scroll", role: "region", tabIndex: 0, "aria-label": say("games.score") }, h("table", { class: "score-sheet" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("games.rounds")), state.players.map((_, player) => h("th", { scope: "col", class: "number", title: name(player) }, name(player))))),
      h("tbody", {},
        h("tr", { class: "total" }, h("th", { scope: "row" }, say("games.total")), totals.map(cell)),
        [...state.finished].reverse().map((round) => h("tr", {}, h("th", { scope: "row" }, round.number), round.points.map(cell))))));
  }

  announce(before, state) {
    const [old, now] = [before.round.cards, state.round.cards];
    const texts = [];
    const last = now && before.number === state.number ? now.plays.slice(old.plays.length).at(-1) : undefined;
    const ended = state.round.over && !before.round.over;
    const turn = state.round.moves !== null && state.version !== before.version;
    this.ring(last ? { passed: last.cards.length === 0, bomb: BOMBS.includes(last.kind) } : null, turn, ended ? state.round.points[state.table.you] > 0 : null);
    if (now && before.number === state.number) {
      const news = now.plays.slice(old.plays.length);
      texts.push(...news.slice(-MOST_SAID).map((play) => say("table.said", { name: gameSeatName(state, play.seat), move: playWords(play) })));
      const calls = (now.calls ?? []).slice(old.calls?.length ?? 0);
      texts.push(...calls.map(([seat, call]) => say("table.said", { name: gameSeatName(state, seat), move: say(`games.call.${call}`) })));
      if (old.landlord === null && now.landlord !== null && now.landlord !== undefined) texts.push(say("games.said.landlord", { name: gameSeatName(state, now.landlord) }));
    } else if (!now && before.round.words !== state.round.words) texts.push(toldWords(state.round.words, gameSeatNames(state)));
    if (state.round.over) texts.push(outcomeWords(state));
    else if (state.round.moves !== null && state.version !== before.version) texts.push(asked(state));
    if (texts.length) this.parts.said.textContent = texts.join(". ");
  }

  // --- hints ---

  /** Labels of the agents that may be asked: those at the table first. */
  askable() {
    const { game, seats } = this.state.table;
    const seated = seats.filter((seat) => seat.kind === "agent").map((seat) => seat.label);
    const family = game.split("(")[0];
    const offered = this.games?.find((one) => one.name === family)?.agents ?? [];
    const fitting = offered.filter((agent) => canPlay(agent, game)).map((agent) => agent.label);
    return [...new Set([...fitting.filter((label) => label !== "random"), ...seated])];
  }

  get adviser() {
    const labels = this.askable();
    const chosen = kept(`adviser-${this.state.table.game}`);
    return labels.includes(chosen) ? chosen : labels[0];
  }

  askHint() {
    if (this.mine.moves === null || !this.send({ type: "hint", agent: this.adviser, version: this.state.version })) return;
    this.openSide(true);
  }

  hinted(data) {
    if (!this.takeHint(data, ["version", "agent"])) return;
    if (data.status === "done" && data.version === this.state.version) {
      const words = this.mine.wordsOf(data.best);
      this.parts.said.textContent = say("games.hint.best", { agent: data.agent, move: words });
    }
    this.drawHint();
  }

  drawHint() {
    const { hint, state } = this;
    const old = hint !== null && hint.version !== state.version;
    const labels = this.askable();
    const { adviser } = this;
    this.part("hint", [old ? "old" : hint, labels, adviser, this.mine.moves === null], () => [
      this.adviserField(labels, adviser),
      hint === null || old ? h("p", { class: "quiet" }, say("games.hint.ask"))
        : hint.status === "thinking" ? h("p", { class: "thinking", role: "status" }, say("hint.thinking"))
        : hint.status === "failed" ? h("p", { class: "error" }, hint.error)
        : this.hintTable(hint),
    ]);
    this.parts.log.scrollTop = this.parts.log.scrollHeight; // what is above it may have taken its room
  }

  adviserField(labels, adviser) {
    const select = h("select", { on: { change: () => { keep(`adviser-${this.state.table.game}`, select.value); this.drawHint(); } } },
      labels.map((label) => h("option", { value: label, selected: label === adviser }, label)));
    return h("label", { class: "field adviser" }, h("span", {}, say("games.hint.by")), select);
  }

  hintTable(hint) {
    if (this.mine.moves === null) return null;
    const valued = hint.moves.some((move) => move.value !== null);
    const rows = hint.moves.filter((move, i) => i < 6 && (valued || move.share > 0));
    const searched = hint.moves.some((move) => move.gain !== null);
    const take = (move) => { this.openSide(false); this.mine.choose(move.index); };
    const list = rows.map((move) => ({ ...move, words: this.mine.wordsOf(move.index), cards: this.mine.cardsOf(move.index), best: move.index === hint.best, take: () => take(move) }));
    const worth = ({ value }) => (value === null ? "–" : signed(Math.round(100 * value) / 100));
    const head = searched ? [say("games.hint.gain"), say("games.hint.gain.long")] : [say("games.hint.value"), say("games.hint.note")];
    return [
      h("p", { class: "hint-best" }, say("games.hint.best", { agent: hint.agent, move: this.mine.wordsOf(hint.best) })),
      hintTable(list, { heads: [head, [say("games.hint.share"), ""]], cell: searched ? null : worth }),
      h("p", { class: "quiet" }, searched ? say("games.hint.gain.long") : valued && say("games.hint.note")),
    ];
  }

  // --- dialogs ---

  /** Ask where to sit in a new round. */
  seatBox() {
    const { state } = this;
    const { table, round } = state;
    const fixed = table.game.startsWith("doudizhu") && !table.game.includes("landlord=bid");
    const label = (seat) => (fixed ? say(`games.seat.${seat}`) : say("games.seat", { n: seat + 1 }));
    const deal = (close, seat) => { close(); this.send({ type: "round", seat, version: this.state.version }); };
    this.showBox(dialog(say("games.seats"), (close) => [
      h("p", {}, say(round.over ? "games.seats.over" : "games.seats.play")),
      h("div", { class: "seat-choices" }, table.seats.map((seat, i) =>
        h("button", { type: "button", class: i === table.you ? "here" : null, autofocus: i === table.you, on: { click: () => deal(close, i) } },
          h("b", {}, label(i)), " ", h("span", { class: "quiet" }, i === table.you ? say("games.seat.yours") : say("games.seat.swap", { name: seat.name })), roleOf(round.cards, i) === "landlord" && !fixed ? " ♛" : null))),
      h("button", { type: "button", on: { click: close } }, say("table.cancel"))]));
  }

  paceTools() {
    const { table } = this.state;
    const shown = h("output", {}, say("table.pace.value", { s: table.pace.toFixed(1) }));
    const range = h("input", { type: "range", min: "0", max: "3", step: "0.1", value: String(table.pace), "aria-label": say("table.pace"), on: { input: () => {
      shown.textContent = say("table.pace.value", { s: Number(range.value).toFixed(1) });
      this.send({ type: "pace", pace: Number(range.value) });
    } } });
    return h("label", { class: "pace" }, range, shown);
  }

  helpBox() {
    const row = (keys, text) => h("tr", {}, h("th", { scope: "row" }, keys.map((key, i) => [i > 0 && " ", h("kbd", {}, key)])), h("td", {}, say(text)));
    this.showBox(dialog(say("help.title"), (close) => [
      h("table", { class: "keys" }, h("tbody", {},
        row([say("key.arrows")], "help.arrows"), row([say("key.space")], "help.space"), row([say("key.enter")], "help.enter"),
        row(["P"], "help.pass"), row(["S"], "help.suggest"), row(["H"], "games.help.hint"), row(["U"], "help.undo"),
        row([say("key.escape")], "help.clear"), row(["O"], "help.order"), row(["N"], "games.help.next"), row(["?"], "help.help"))),
      h("p", {}, say("help.mouse")),
      h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close"))]));
  }

  /** Keys that work all over the page. */
  key(event) {
    if (!this.takes(event)) return;
    const at = event.target;
    const { mine } = this;
    const keys = {
      p: () => mine.pass(), s: () => { mine.suggest(); mine.hand.enter(); }, h: () => this.askHint(), o: () => mine.sort(), n: () => mine.next(), u: () => mine.undo(),
      Escape: () => { mine.hand.choose([]); this.openSide(false); },
      "?": () => this.helpBox(),
    };
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const arrow = event.key.startsWith("Arrow");
    if (arrow && at.closest?.(".word-moves")) this.alongMoves(at, event.key);
    else if (arrow && !at.closest?.(".log-place, .score-scroll")) {
      if (mine.spoken) mine.parts.moves.querySelector("button")?.focus();
      else mine.hand.enter();
    } else if (event.key === "Enter" && !at.closest?.("button, a, summary")) mine.play();
    else if (name in keys) keys[name]();
    else return;
    event.preventDefault();
  }

  /** Go from one move that is told by words to the next. */
  alongMoves(at, key) {
    const step = key === "ArrowRight" || key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
    at[step]?.focus();
  }
}
