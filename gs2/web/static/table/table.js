// A table: what the server says of it becomes the page, what a person does goes to the server.

import { moveWords, passes } from "gs2/cards.js";
import { Channel } from "gs2/channel.js";
import { clear, h } from "gs2/dom.js";
import { between, felt, request, seatName } from "gs2/felt.js";
import { CARDS, WORDS } from "gs2/game-faces.js";
import { GUANDAN } from "gs2/guandan-face.js";
import { adviceView, hintView } from "gs2/hint.js";
import { OwnSeat } from "gs2/own-seat.js";
import { counterView, dialog, helpDialog, lastTrickDialog, moveLog, nameDialog, paceTools, seatDialog, shareDialog, watcherTools } from "gs2/side.js";
import { setSounds, sound, soundsOn } from "gs2/sounds.js";
import { ask, keep, kept, problemWords } from "gs2/store.js";
import { LIMITS, TurnClock } from "gs2/turn-clock.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";

/** How each kind of game looks, by the word that the server has for it. */
const FACES = { guandan: GUANDAN, cards: CARDS, words: WORDS };
/** Moves that are read out at once; more are left to the log. */
const MOST_SAID = 4;
/** Milliseconds that a complaint stays. */
const COMPLAINT = 6000;

/** One table on the page. `state` is what the server said last, null before. */
export class Table {
  /**
   * @param {HTMLElement} root
   * @param {string} id
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, id, app) {
    if (kept(`seat-${id}`) === "" && kept(`game-${id}`) !== "") keep(`seat-${id}`, kept(`game-${id}`)); // of an earlier version
    Object.assign(this, {
      root, id, app, seatKey: `seat-${id}`, state: null, status: "connecting", face: GUANDAN, frozen: null,
      hint: null, box: null, boxName: "", dismissed: "", playsShown: 0, missing: false,
    });
    this.clock = new TurnClock({ act: () => this.own.takeOver(), tick: (left) => this.tick(left) });
    this.address = `/api/tables/${encodeURIComponent(id)}`;
    this.own = new OwnSeat({
      send: (message, how) => this.send(message, how),
      complain: (text) => this.complain(text),
      hint: () => this.askHint(),
      next: () => this.next(),
    });
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
    this.build();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const query = () => (kept(this.seatKey) ? `?key=${encodeURIComponent(kept(this.seatKey))}` : "");
    this.channel = new Channel(() => `${scheme}//${location.host}/ws/tables/${encodeURIComponent(id)}${query()}`, {
      message: (data) => this.hear(data),
      status: (status) => this.reconnected(status),
    });
  }

  /** Leave the table. */
  stop() {
    this.clock.stop();
    this.channel.close();
    document.removeEventListener("keydown", this.keys);
    this.box?.close();
  }

  /** Draw everything anew, in the language now chosen. */
  redraw() {
    this.own.build();
    if (this.missing) {
      this.drawGone();
      return;
    }
    this.build();
    this.connection(this.status);
    if (this.state) this.show();
    this.tick(this.clock.left);
  }

  // --- the page ---

  /** Return a button. name: of its words. */
  button(name, act, more = {}) {
    return h("button", { type: "button", ...more, on: { click: act } }, say(name));
  }

  /** Draw a part anew if what it shows has changed. */
  part(name, shown, draw) {
    const text = JSON.stringify([shown, document.documentElement.lang]);
    if (this.drawn[name] === text) return;
    this.drawn[name] = text;
    clear(this.parts[name], draw());
  }

  /** Show what is beside the table, where there is no room for it all the time. */
  openSide(open) {
    this.parts.side.classList.toggle("open", open);
  }

  build() {
    const p = (this.parts = {
      banner: h("p", { class: "banner", role: "status", hidden: true }),
      felt: h("div", { class: "felt-place" }),
      said: h("p", { class: "visually-hidden", "aria-live": "polite" }),
      error: h("p", { class: "toast", role: "alert" }),
      log: h("div", { class: "log-place", role: "region", tabIndex: 0, "aria-label": say("table.log") }),
      hint: h("div", { class: "hint-place" }),
      counter: h("div", { class: "counter-place" }),
      clock: h("div", { class: "clock", role: "timer" }),
      side: h("aside", { class: "side", id: "table-side", "aria-label": say("table.side") }),
      standing: h("div", { class: "standing" }),
      watch: h("div", { class: "watch row" }),
      score: h("div", { class: "score-place" }),
      seats: this.button("games.seats", () => this.seatBox(), { hidden: true }),
      review: this.button("app.review", () => this.review(), { hidden: true }),
      record: h("a", { class: "button record", href: `${this.address}/record`, download: "", hidden: true }, say("games.record")),
    });
    this.drawn = {};
    p.side.append(
      this.button("table.close", () => this.openSide(false), { class: "side-close" }),
      h("h2", { class: "for-player" }, say("table.hint")), p.hint, p.counter, p.score,
      h("h2", { class: "log-title" }, say("table.log")), p.log);
    const tools = h("div", { class: "tools" },
      this.button("table.last", () => this.showBox(lastTrickDialog(this.seen(), this.face)), { class: "last-trick" }),
      this.button("table.log", () => this.openSide(!p.side.classList.contains("open")), { class: "side-open", "aria-controls": "table-side" }),
      p.seats,
      this.button("table.options", () => this.optionsBox(), { class: "for-player" }),
      p.review, p.record,
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

  // --- what the server says ---

  /** Send a message; without a connection say so, and return false. */
  send(message, { quietly = false } = {}) {
    const sent = this.channel.send(message);
    if (!sent && !quietly) this.complain(say("error.offline"));
    return sent;
  }

  /** Hear of the connection. A hint belongs to one: the server gives it up with it, and may have begun anew since. */
  reconnected(status) {
    if (this.hint !== null) {
      this.hint = null;
      this.drawHint();
    }
    this.connection(status);
    if (status === "open") this.clock.start(); // what was done for the person may have been lost
  }

  connection(status) {
    this.status = status;
    const { banner } = this.parts;
    const waits = status === "lost" || (status !== "open" && this.state === null);
    banner.hidden = !waits;
    banner.textContent = waits ? say(status === "lost" ? "table.lost" : "table.connecting") : "";
    this.root.classList.toggle("cut", status === "lost");
    if (status === "lost" && this.state === null) this.look();
  }

  /** Say so if the server does not know the table. */
  async look() {
    const response = await fetch(`${this.address}/record`, { method: "HEAD" }).catch(() => null);
    if (response?.status !== 404 || this.channel.closed) return;
    this.channel.close();
    keep(this.seatKey, null);
    this.missing = true;
    this.drawGone();
  }

  drawGone() {
    clear(this.root, h("div", { class: "page" }, h("h1", {}, say("table.gone")), h("p", {}, h("a", { href: "#/" }, say("table.gone.back")))));
  }

  hear(data) {
    if (data.type === "state") this.update(data);
    else if (data.type === "fits") this.own.fitted(data);
    else if (data.type === "suggestions") this.own.suggested(data);
    else if (data.type === "arranged") this.own.hand.arranged(data.moves);
    else if (data.type === "hint") this.hinted(data);
    else if (data.type === "error") this.complain(problemWords(data.code, data.text));
  }

  update(state) {
    const before = this.state;
    this.state = state;
    this.face = FACES[state.table.face];
    // when a round is over its last cards stay on the felt, under the result
    if (state.waiting === null) this.frozen = null;
    else if (before) this.frozen = this.face.ended?.(before, state) ?? this.frozen;
    this.show();
    if (before) this.announce(before, state);
    const { failure } = state.table;
    if (failure && failure !== before?.table.failure) this.complain(failure);
    if (!before || between(before) === between(state) || this.face.due) return;
    if (between(state)) this.own.parts.next.focus();
    else this.own.enter();
  }

  /** What is to be seen: the state, or the end of the round before. */
  seen() {
    return this.frozen ?? this.state;
  }

  show() {
    const { state, root, face, parts } = this;
    const seen = this.seen();
    const { round, table } = seen;
    const { you } = state.table;
    root.classList.toggle("playing", you !== null);
    root.classList.toggle("words-only", round.hands === null);
    root.dataset.version = String(state.version);
    root.dataset.since = String(state.since);
    this.part("standing", [seen.match, round, table], () => face.standing(seen));
    this.part("felt", [table, round, seen.turn, seen.waiting, seen.results?.length], () => felt(seen, { face, join: (seat) => this.join(seat) }, this.fresh(round.plays)));
    this.part("log", [round, table.seats], () => moveLog(seen, face));
    this.part("score", [seen.finished, table.seats], () => face.scores && [h("h2", {}, say("games.score")), face.scores(seen)]);
    this.own.show(state, face, this.frozen !== null);
    this.clock.ask(this.own.turn === null ? null : state.since);
    const deck = face.deck?.(seen) ?? null;
    const known = [...(round.hands?.[you] ?? []), ...round.plays.flatMap(({ move }) => (passes(move) ? [] : move[2]))];
    this.part("counter", [deck, known], () => deck && [h("h2", {}, say("table.counter")), counterView(deck, known)]);
    this.part("watch", [state.table, state.waiting, state.round.over], () => watcherTools(state, { send: (message) => this.send(message), next: () => this.next(), record: `${this.address}/record` }));
    // where people play, hands are shown of rounds that are over
    parts.review.hidden = !state.table.reviewed || (state.results ?? state.finished).length === 0 && (state.table.people > 0 || face.matches !== true);
    parts.record.hidden = face.matches === true;
    parts.seats.hidden = face.matches === true || you === null || (state.table.people > 1 && !state.round.over);
    if (this.pacePlace?.isConnected) this.drawPace();
    this.drawHint();
    this.dueBox();
    document.title = `${request(state, face) || face.outcomeWords?.(state) || say("table.menu")} – gs2`;
  }

  /** Return the seat whose move the felt has not shown yet. */
  fresh(plays) {
    const grown = plays.length === this.playsShown + 1;
    this.playsShown = plays.length;
    return grown ? plays.at(-1).seat : null;
  }

  /** Show the seconds that are left of the person's turn, or that it is played for the person. */
  tick(left) {
    const { clock: place } = this.parts ?? {};
    if (!place) return;
    place.classList.toggle("short", left > 0 && left <= 5);
    if (left > 0 && left <= 3) sound("late");
    if (this.clock.auto) clear(place, this.button("table.auto.stop", () => this.clock.set({ auto: false }), { class: "auto-stop" }));
    else place.textContent = left > 0 ? say("table.clock", { s: left }) : "";
  }

  complain(text) {
    this.parts.error.textContent = text;
    clearTimeout(this.fading);
    this.fading = setTimeout(() => { this.parts.error.textContent = ""; }, COMPLAINT);
  }

  announce(before, state) {
    const { face } = this;
    const same = before.round.number === state.round.number;
    const news = same ? state.round.plays.slice(before.round.plays.length) : [];
    const last = news.at(-1)?.move;
    const sounds = last ? [passes(last) ? "pass" : face.bombs.includes(last[0]) ? "bomb" : "card"] : [];
    const won = face.won(before, state);
    if (won !== null) sounds.push(won ? "won" : "lost");
    else if (state.turn.you !== null && state.since !== before.since) sounds.push("turn");
    sound(...sounds);
    const texts = news.slice(-MOST_SAID).map(({ seat, move }) => say("table.said", { name: seatName(state, seat), move: moveWords(move) }));
    texts.push(...(same ? (face.said?.(before, state) ?? []) : []));
    const outcome = face.outcomeWords?.(state);
    if (outcome && !before.round.over) texts.push(outcome);
    if (state.turn.you && (!before.turn.you || news.length > 0)) texts.push(request(state, face));
    if (texts.length) this.parts.said.textContent = texts.join(". ");
  }

  // --- dialogs ---

  /** Open the dialog that the state asks for; close one that it no longer does. */
  dueBox() {
    const { state } = this;
    const due = this.face.due?.(state) || null;
    const name = due?.name ?? "";
    if (this.boxName && this.boxName !== name) this.box?.close();
    if (!name) this.dismissed = ""; // after an undo the same round may end again
    if (!name || this.boxName === name || this.dismissed === name) return;
    const box = this.showBox(due.open(state, { next: () => this.next(), review: () => this.review(), record: `${this.address}/record` }));
    this.boxName = name;
    box.addEventListener("close", () => {
      this.dismissed = name;
      if (this.boxName === name) this.boxName = "";
      this.own.enter();
    });
  }

  /** Ask where to sit in a new round. */
  seatBox() {
    const { version } = this.state;
    this.showBox(seatDialog(this.state, (seat) => this.send({ type: "next", seat, version })));
  }

  /** Let the person set the pace, a clock for the own turn, automatic play and sounds. */
  optionsBox() {
    const { clock } = this;
    this.pacePlace = h("div", {});
    this.drawPace();
    const limit = h("select", { on: { change: () => clock.set({ limit: Number(limit.value) }) } },
      LIMITS.map((s) => h("option", { value: String(s), selected: s === clock.limit }, say(s ? "table.limit.value" : "table.limit.none", { s }))));
    const check = (name, checked, set) => {
      const box = h("input", { type: "checkbox", checked, on: { change: () => set(box.checked) } });
      return h("label", { class: "check" }, box, " ", say(name));
    };
    this.showBox(dialog(say("table.options"), (close) => h("div", { class: "stack options" },
      h("div", {}, say("table.pace"), this.pacePlace),
      h("label", { class: "field" }, h("span", {}, say("table.limit")), limit),
      check("table.auto", clock.auto, (auto) => clock.set({ auto })),
      check("table.sounds", soundsOn(), setSounds),
      h("p", { class: "quiet" }, say("table.auto.about")),
      h("div", {}, h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close"))))));
  }

  drawPace() {
    clear(this.pacePlace, paceTools(this.state.table, (message) => this.send(message)));
  }

  /** Take a dialog that was just opened as the one there is. */
  showBox(box) {
    if (this.box !== box) this.box?.close();
    this.box = box;
    return box;
  }

  // --- hints ---

  /** The agent that is asked for hints, of those that can be. */
  get adviser() {
    const { game, advisers } = this.state.table;
    const chosen = kept(`adviser-${game}`);
    return advisers.includes(chosen) ? chosen : advisers[0];
  }

  askHint() {
    if (this.own.turn === null || !this.send({ type: "hint", agent: this.adviser })) return;
    this.openSide(true);
  }

  hinted(data) {
    const mine = data.status === "thinking" || (data.since === this.hint?.since && data.agent === this.hint?.agent);
    if (!mine) return; // another was asked for since
    this.hint = data;
    if (data.status === "done" && data.since === this.state.since) {
      // a card to pay or return is chosen at once: there is nothing else to show
      if (data.choice && !data.explanation) this.own.hand.choose(data.choice[2]);
      if (data.moves) this.parts.said.textContent = say("games.hint.best", { agent: data.agent, move: this.adviceWords(data.moves[0]) });
    }
    this.drawHint();
  }

  /** Return a move of an agent's hint in words: it has cards, or a text. */
  adviceWords({ move, text }) {
    return move ? moveWords(move) : this.face.spoken(text);
  }

  drawHint() {
    const { hint, state, adviser } = this;
    const { advisers } = state.table;
    const gone = hint === null || hint.since !== state.since;
    const names = state.table.seats.map((_, seat) => seatName(state, seat));
    this.part("hint", [gone ? null : hint, names, advisers, adviser, this.own.turn === null], () => [
      advisers.length > 1 && this.adviserField(advisers, adviser),
      gone ? h("p", { class: "quiet for-player" }, say(adviser === "gs2" ? "hint.ask" : "games.hint.ask"))
        : hint.status === "thinking" ? h("p", { class: "thinking", role: "status" }, say("hint.thinking"))
        : hint.status === "failed" ? h("p", { class: "error" }, hint.error)
        : hint.explanation ? hintView(hint.explanation, { names, take: (cards) => this.own.hand.choose(cards) })
        : hint.moves ? adviceView(hint, { words: (move) => this.adviceWords(move), take: (move) => this.takeAdvice(move) })
        : h("p", { class: "hint-best" }, say("hint.best", { move: moveWords(hint.choice) })),
    ]);
    this.parts.log.scrollTop = this.parts.log.scrollHeight; // what is above it may have taken its room
  }

  takeAdvice({ index, move }) {
    this.openSide(false);
    if (move) this.own.hand.choose(passes(move) ? [] : move[2]);
    else this.own.enter(index);
  }

  adviserField(labels, adviser) {
    const select = h("select", { on: { change: () => { keep(`adviser-${this.state.table.game}`, select.value); this.drawHint(); } } },
      labels.map((label) => h("option", { value: label, selected: label === adviser }, label)));
    return h("label", { class: "field adviser for-player" }, h("span", {}, say("games.hint.by")), select);
  }

  // --- the table itself ---

  /** Go on after a round; before its end, a game's seats may be changed. */
  next() {
    if (this.state.waiting !== null) this.send({ type: "next", version: this.state.version });
    else if (!this.parts.seats.hidden) this.seatBox();
  }

  join(seat) {
    this.showBox(nameDialog(kept("name"), async (name) => {
      try {
        const given = await ask(`${this.address}/seat`, { json: { seat: this.state.table.seats[seat].player, name } });
        keep("name", name);
        keep(this.seatKey, given.key);
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
      this.showBox(shareDialog(url));
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

  /**
   * Return whether a key is meant for the page, not for a field, a dialog or the browser. One that is held counts
   * once, but for arrows, and presses no button that has come under the keyboard meanwhile.
   */
  takes(event) {
    if (event.repeat && !event.key.startsWith("Arrow")) {
      if (event.key === "Enter") event.preventDefault();
      return false;
    }
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return false;
    return !event.target.matches?.("input, select, textarea") && this.state !== null;
  }

  /** Keys that work all over the page. */
  key(event) {
    if (!this.takes(event)) return;
    const at = event.target;
    const { own } = this;
    const everybody = { l: () => this.showBox(lastTrickDialog(this.seen(), this.face)), "?": () => this.showBox(helpDialog()) };
    const player = {
      p: () => own.pass(), s: () => { own.suggest(); own.enter(); }, h: () => this.askHint(), o: () => own.sort(), n: () => this.next(), u: () => own.undo(),
      Escape: () => { own.hand.choose([]); this.openSide(false); },
    };
    const seated = this.state.table.you !== null;
    const anywhere = seated ? { ...everybody, ...player } : everybody;
    const scrolls = at.closest?.(".log-place, .score-scroll");
    const free = seated && !scrolls && !at.closest?.("button, a, summary");
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (at.closest?.(".word-moves") && event.key.startsWith("Arrow")) at[/Right|Down/.test(event.key) ? "nextElementSibling" : "previousElementSibling"]?.focus();
    else if (seated && !scrolls && event.key.startsWith("Arrow")) own.enter();
    else if (free && event.key === "Enter") own.play();
    else if (name in anywhere) anywhere[name]();
    else return;
    event.preventDefault();
  }
}
