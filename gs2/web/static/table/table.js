// A table: what the server says of it becomes the page, what a person does goes to the server.

import { moveWords } from "gs2/cards.js";
import { TWO_DECKS } from "gs2/counter.js";
import { clear, h } from "gs2/dom.js";
import { felt, request, seatName, standing } from "gs2/felt.js";
import { hintView } from "gs2/hint.js";
import { BOMBS, OwnSeat } from "gs2/own-seat.js";
import { dialog, helpDialog, lastTrickDialog, matchDialog, moveLog, nameDialog, roundDialog } from "gs2/side.js";
import { ask, keep, kept, problemWords } from "gs2/store.js";
import { MOST_SAID, TablePage } from "gs2/table-page.js";
import { paceTools, watcherTools } from "gs2/watching.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";

/**
 * Return the end of a round, as it lay: the server has dealt the next one by then.
 * @param {object} before the state before its last move
 * @param {object} now the first state after it
 */
function ended(before, now) {
  const end = now.results.at(-1);
  const left = [[], [], [], []];
  for (const [seat, cards] of end.left) left[seat] = cards;
  return {
    ...before,
    waiting: now.waiting,
    turn: { seats: [], you: null },
    round: {
      ...before.round,
      hands: before.round.hands.map((hand, seat) => hand && left[seat]),
      rest: left.map((cards) => cards.length),
      trick: end.trick,
      order: end.order,
      greater: null,
    },
  };
}

/** One table on the page. */
export class Table extends TablePage {
  /**
   * @param {HTMLElement} root
   * @param {string} id
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, id, app) {
    super(root, id);
    this.app = app;
    /** The end of the round before, while people look at its result. */
    this.frozen = null;
    this.boxName = "";
    this.dismissed = "";
    this.mine = this.own = new OwnSeat({
      send: (message, how) => this.send(message, how),
      complain: (text) => this.complain(text),
      hint: () => this.askHint(),
    });
    this.open();
  }

  redraw() {
    this.own.build();
    super.redraw();
  }

  // --- the page ---

  build() {
    const p = (this.parts = {
      ...this.common("table.side"),
      standing: h("div", {}),
      watch: h("div", { class: "watch row" }),
      review: this.button("app.review", () => this.review(), { hidden: true }),
    });
    this.drawn = {};
    p.side.append(
      this.button("table.close", () => this.openSide(false), { class: "side-close" }),
      h("h2", { class: "for-player" }, say("hint.title")), p.hint, p.counter,
      h("h2", {}, say("table.log")), p.log);
    const tools = h("div", { class: "tools" },
      this.button("table.last", () => this.showBox(lastTrickDialog(this.seen()))),
      this.sideButton("table.log"),
      this.button("table.options", () => this.optionsBox(this.paceTools()), { class: "for-player" }),
      p.review,
      this.button("table.share", () => this.share()),
      this.button("table.help", () => this.showBox(helpDialog()), { class: "for-keyboard" }));
    clear(this.root,
      h("h1", { class: "visually-hidden" }, say("table.menu")),
      h("div", { class: "table" },
        h("div", { class: "table-bar" }, p.standing, tools),
        p.banner,
        h("div", { class: "table-main" }, h("div", { class: "play-area" }, p.felt, p.watch, p.clock, this.own.element), p.side),
        p.said, p.error));
  }

  gone() {
    return [h("h1", {}, say("table.gone")), h("p", {}, h("a", { href: "#/" }, say("table.gone.back")))];
  }

  // --- what the server says ---

  hear(data) {
    if (data.type === "state") this.update(data);
    else if (data.type === "fits") this.own.fitted(data);
    else if (data.type === "suggestions") this.suggested(data);
    else if (data.type === "arranged") this.own.hand.arranged(data.moves);
    else if (data.type === "hint") this.hinted(data);
    else if (data.type === "error") this.complain(problemWords(data.code, data.text));
  }

  update(state) {
    const before = this.state;
    this.state = state;
    // when a round is over its last cards stay on the felt, under the result
    if (state.waiting === null) this.frozen = null;
    else if (before?.waiting === null && before.match.round !== state.match.round) this.frozen = ended(before, state);
    this.show();
    if (before) this.announce(before, state);
    const { failure } = state.table;
    if (failure && failure !== before?.table.failure) this.complain(failure);
  }

  /** What is to be seen: the state, or the end of the round before. */
  seen() {
    return this.frozen ?? this.state;
  }

  show() {
    const { state, root } = this;
    const seen = this.seen();
    const you = state.table.you;
    root.classList.toggle("playing", you !== null);
    root.dataset.version = String(state.version);
    root.dataset.since = String(state.since);
    this.part("standing", [seen.match, seen.round.level, seen.table.games, you], () => standing(seen));
    this.part("felt", [seen.table, seen.round, seen.turn, seen.waiting, seen.match.over, seen.results.length], () => felt(seen, { join: (seat) => this.join(seat) }, this.fresh(seen.round.plays)));
    const { plays, tributes, returns, anti } = seen.round;
    this.part("log", [plays, tributes, returns, anti, seen.table.seats], () => moveLog(seen));
    this.own.show(state, this.frozen !== null);
    this.clock.ask(this.own.turn === null ? null : state.since);
    this.count(you === null ? null : TWO_DECKS, [...(seen.round.hands[you] ?? []), ...plays.flatMap(({ move }) => (move[0] === "PASS" ? [] : move[2]))]);
    this.part("watch", [state.table, state.match.over], () => watcherTools(state, { send: (message) => this.send(message), record: `${this.address}/record` }));
    // where people play, hands are shown of rounds that are over
    this.parts.review.hidden = state.table.people && state.results.length === 0;
    if (this.pacePlace?.isConnected) this.drawPace();
    this.drawHint();
    this.dueBox();
    document.title = `${request(state) || say("table.menu")} – gs2`;
  }

  announce(before, state) {
    const news = state.round.plays.slice(before.round.plays.length);
    const same = before.match.round === state.match.round && before.match.game === state.match.game;
    const last = same ? news.at(-1)?.move : undefined;
    const end = state.results.length > before.results.length ? state.results.at(-1) : null;
    this.ring(last ? { passed: last[0] === "PASS", bomb: BOMBS.includes(last[0]) } : null, state.turn.you !== null && state.since !== before.since, end && end.winner === (state.table.you ?? 0) % 2);
    const texts = same ? news.slice(-MOST_SAID).map(({ seat, move }) => say("table.said", { name: seatName(state, seat), move: moveWords(move) })) : [];
    if (state.turn.you && (!before.turn.you || news.length > 0)) texts.push(request(state));
    if (texts.length) this.parts.said.textContent = texts.join(". ");
  }

  // --- dialogs ---

  /** Open the dialog that the state asks for; close one that it no longer does. */
  dueBox() {
    const { state } = this;
    const due = state.match.over && state.games_over.length ? "match" : state.waiting !== null && state.table.you !== null ? "round" : "";
    const name = due && `${due}-${state.results.length}`;
    if (this.boxName && this.boxName !== name) this.box?.close();
    if (!name || this.boxName === name || this.dismissed === name) return;
    const box = due === "match"
      ? matchDialog(state, { review: () => this.review(), record: `${this.address}/record` })
      : roundDialog(state, { next: () => this.own.next(), review: () => this.review() });
    this.showBox(box);
    this.boxName = name;
    box.addEventListener("close", () => {
      this.dismissed = name;
      if (this.boxName === name) this.boxName = "";
      this.own.hand.enter();
    });
  }

  paceTools() {
    this.pacePlace = h("div", {});
    this.drawPace();
    return this.pacePlace;
  }

  drawPace() {
    clear(this.pacePlace, paceTools(this.state.table, (message) => this.send(message)));
  }

  // --- hints ---

  askHint() {
    if (this.own.turn === null || !this.send({ type: "hint" })) return;
    this.openSide(true);
  }

  hinted(data) {
    if (!this.takeHint(data, ["since"])) return;
    // a card to pay or return comes as a place in the list of choices only
    if (data.status === "done" && !data.explanation && data.since === this.state?.since) this.send({ type: "suggest" });
    this.drawHint();
  }

  suggested(data) {
    const bare = this.hint?.status === "done" && !this.hint.explanation && !this.hint.move && this.hint.since === data.since;
    const move = this.own.suggested(data, bare ? this.hint.index : undefined);
    if (!bare || move === null) return;
    this.hint.move = [this.own.turn?.stage, "", move[2]];
    this.drawHint();
  }

  drawHint() {
    const { hint, state } = this;
    const gone = hint === null || hint.since !== state?.since;
    const names = state?.table.seats.map((_, seat) => seatName(state, seat)) ?? [];
    this.part("hint", gone ? [] : [hint.status, hint.since, hint.error, hint.move, names], () => {
      if (gone) return h("p", { class: "quiet for-player" }, say("hint.ask"));
      if (hint.status === "thinking") return h("p", { class: "thinking", role: "status" }, say("hint.thinking"));
      if (hint.explanation) return hintView(hint.explanation, { names, take: (cards) => this.own.hand.choose(cards) });
      return h("p", { class: "hint-best" }, hint.move ? say("hint.best", { move: moveWords(hint.move) }) : (hint.error ?? ""));
    });
    this.parts.log.scrollTop = this.parts.log.scrollHeight; // what is above it may have taken its room
  }

  // --- the table itself ---

  join(seat) {
    this.showBox(nameDialog(kept("name"), async (name) => {
      try {
        const given = await ask(`${this.address}/seat`, { json: { seat, name } });
        keep("name", name);
        keep(`seat-${this.id}`, given.key);
        this.channel.reopen({ anyway: true });
      } catch (error) {
        this.complain(error.message);
      }
    }));
  }

  async share() {
    const url = `${location.origin}${location.pathname}#/table/${this.id}`;
    try {
      await navigator.clipboard.writeText(url);
      this.complain(say("table.shared", { url }));
    } catch {
      this.showBox(dialog(say("table.share"), (close) => [
        h("label", {}, say("table.share.here", { url: "" }), h("input", { type: "text", readOnly: true, value: url })),
        h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close"))]));
    }
  }

  async review() {
    try {
      const job = await ask(`${this.address}/review`, { json: {} });
      if (!this.channel.closed) this.app.go(`#/review/${job.id}`);
    } catch (error) {
      this.complain(error.message);
    }
  }

  /** Keys that work all over the page. */
  key(event) {
    if (!this.takes(event)) return;
    const at = event.target;
    const { own } = this;
    const everybody = { l: () => this.showBox(lastTrickDialog(this.seen())), "?": () => this.showBox(helpDialog()) };
    const player = {
      p: () => own.pass(), s: () => own.suggest(), h: () => this.askHint(), o: () => own.sort(), n: () => own.next(), u: () => own.undo(),
      Escape: () => { own.hand.choose([]); this.openSide(false); },
    };
    const anywhere = this.state.table.you === null ? everybody : { ...everybody, ...player };
    const free = this.state.table.you !== null && !at.closest?.("button, a, summary, .log-place");
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (free && event.key.startsWith("Arrow")) own.hand.enter();
    else if (free && event.key === "Enter") own.play();
    else if (name in anywhere) anywhere[name]();
    else return;
    event.preventDefault();
  }
}
