// A review: a game walked through move by move, every decision with what the search says of it.

import { cardFace, cardText, isWild, moveWords, passes, rankText } from "gs2/cards.js";
import { clear, h, languageButton, tableHead } from "gs2/dom.js";
import "gs2/games-words.js";
import { curveView } from "gs2/review-curve.js";
import "gs2/review-words.js";
import { say, signed } from "gs2/words.js";

const WRONG = ["inaccuracy", "mistake", "blunder"];
/** Cards of a hand that nobody knows. */
const WHOLE = 27;
/** Where the seats are on the page, the first below. */
const PLACES = { 2: [1, 0], 3: [2, 1, 0], 4: [2, 3, 1, 0] };
const CARD_LOSS = 0.05; // levels from which a tribute or return card is worth a word
const SIGNS = { best: "★", level: "=", inaccuracy: "?!", mistake: "?", blunder: "??", unknown: "–" };

function badge(verdict) {
  return h("span", { class: `review-badge ${verdict}` }, h("span", { "aria-hidden": "true" }, SIGNS[verdict]), " ", say(`reviewed.verdict.${verdict}`));
}

/** Return a move in words; that of a game without cards says it itself. */
function spoken(move) {
  return move[0] === "text" ? move[2][0] : moveWords(move);
}

/** Return a move's cards, small; a pass in words. */
function moveCards(move, level) {
  if (passes(move) || move[0] === "text") return h("span", { class: "quiet" }, spoken(move));
  const cards = move[2].map((name) => cardFace(name, { small: true, wild: isWild(name, level) }));
  return h("span", { class: "review-cards" }, cards);
}

/**
 * Return the table before a play: hands, each seat's move in the trick, and who is out.
 * @param {object} round of the review
 * @param {number} at plays made
 */
export function tableAt(round, at) {
  const hands = round.hands.map((hand) => (hand ? [...hand] : null));
  const left = round.hands.map((hand) => hand?.length ?? WHOLE);
  const nobody = round.hands.map(() => null);
  let trick = [...nobody];
  const out = [];
  for (const { seat, move, lead } of round.plays.slice(0, at)) {
    if (lead) trick = [...nobody];
    trick[seat] = move;
    if (passes(move)) continue;
    left[seat] -= move[2].length;
    for (const card of move[2]) {
      const place = hands[seat] ? hands[seat].indexOf(card) : -1;
      if (place >= 0) hands[seat].splice(place, 1);
    }
    if (left[seat] === 0) out.push(seat);
  }
  if (at < round.plays.length && round.plays[at].lead) trick = [...nobody];
  return { hands, left, trick, out };
}

class ReviewPage {
  constructor(root, review) {
    this.root = root;
    this.review = review;
    this.round = 0;
    this.at = 0;
    this.seat = null;
    this.only = false;
    const first = this.marks(0)[0];
    if (first) this.at = first.play;
  }

  get here() {
    return this.review.rounds[this.round];
  }

  /** Return a player's name; of several with one name each has its number, as at the table. */
  player(number) {
    const { names } = this.review;
    const alone = names.indexOf(names[number]) === names.lastIndexOf(names[number]);
    return alone ? names[number] : `${names[number]} ${number + 1}`;
  }

  /** Return the name of the player who has a seat in a round. */
  name(seat, round = this.here) {
    return this.player(round.players[seat]);
  }

  team(side, round = this.here) {
    return round.teams.flatMap((team, seat) => (team === side ? [this.name(seat, round)] : [])).join(", ");
  }

  /** Return the class of a seat's team. */
  side(seat, round = this.here) {
    return `team${round.teams[seat] & 1}`;
  }

  /** Return a text in the unit of the review. */
  say(key, values = {}) {
    return say(key, { ...values, unit: say(`reviewed.unit.${this.review.unit}`) });
  }

  /** Decisions of a round to look at, those of the chosen player. */
  marks(place) {
    const { decisions, players } = this.review.rounds[place];
    return decisions.filter((found) => WRONG.includes(found.verdict) && (this.seat === null || players[found.seat] === this.seat));
  }

  go(at, round = this.round) {
    this.round = round;
    this.at = Math.max(0, Math.min(this.here.plays.length, at));
    this.draw();
  }

  step(by) {
    if (!this.only) return this.go(this.at + by);
    return this.jump(by);
  }

  /** Go to the next decision to look at, or the one before, over the ends of rounds. */
  jump(by) {
    for (let place = this.round; place >= 0 && place < this.review.rounds.length; place += by) {
      const plays = this.marks(place).map((found) => found.play);
      const there = place !== this.round ? plays : plays.filter((play) => (by > 0 ? play > this.at : play < this.at));
      if (there.length) return this.go(by > 0 ? there[0] : there[there.length - 1], place);
    }
    return undefined;
  }

  turn(by) {
    const place = this.round + by;
    if (place >= 0 && place < this.review.rounds.length) this.go(this.marks(place)[0]?.play ?? 0, place);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const actions = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      ArrowUp: () => this.jump(-1),
      ArrowDown: () => this.jump(1),
      p: () => this.jump(-1),
      n: () => this.jump(1),
      Home: () => this.go(0),
      End: () => this.go(this.here.plays.length),
      "[": () => this.turn(-1),
      "]": () => this.turn(1),
    };
    const action = actions[event.key];
    if (!action) return;
    // up and down walk along the curve alone: elsewhere they scroll
    if (event.key.startsWith("Arrow") && /Up|Down/.test(event.key) && event.target.getAttribute("role") !== "slider") return;
    event.preventDefault();
    action();
  }

  draw() {
    const focused = document.activeElement?.dataset?.keep;
    const scrolled = this.root.querySelector(".review-list")?.scrollTop ?? 0;
    const screen = h("div", { class: "review-screen" }, this.curve(), this.controls(), this.board(), this.judged());
    clear(this.root, this.heading(), this.picker(), screen, this.list(), this.players(), this.about());
    if (focused) this.root.querySelector(`[data-keep="${focused}"]`)?.focus({ preventScroll: true });
    const list = this.root.querySelector(".review-list");
    const current = list?.querySelector("[aria-current]");
    if (list) {
      list.scrollTop = scrolled;
      if (current && (current.offsetTop < list.scrollTop || current.offsetTop > list.scrollTop + list.clientHeight - 48)) {
        list.scrollTop = current.offsetTop - list.clientHeight / 2;
      }
    }
  }

  heading() {
    const { name } = this.review;
    const standalone = document.body.classList.contains("standalone");
    return h("header", { class: "review-head" }, h("h1", {}, say("reviewed.title", { name })), standalone && languageButton({ "data-keep": "language" }));
  }

  about() {
    const { preset, network, notes } = this.review;
    return h("footer", { class: "quiet" },
      h("p", {}, say("reviewed.keys")),
      h("p", {}, this.say("reviewed.by", { preset, network: network.name }), " ", this.review.unit === "levels" && say("reviewed.match")),
      notes.map((note) => h("p", {}, note)));
  }

  roundName(round) {
    const games = this.review.rounds.some((other) => other.game > 1);
    return say(games ? "reviewed.gameRound" : "reviewed.round", { game: round.game, round: round.number });
  }

  /** Whether a round was over and paid nobody; at GuanDan's A a win may gain no level. */
  even(round) {
    return round.result !== null && round.level === null && round.result.gain === 0;
  }

  wonBy(round) {
    if (!round.result) return say("reviewed.unfinished");
    if (this.even(round)) return say("reviewed.even");
    return say("reviewed.won", { names: this.team(round.result.winner, round), gain: `+${round.result.gain}` });
  }

  picker() {
    const buttons = this.review.rounds.map((round, place) =>
      h(
        "button",
        {
          class: `review-round${round.result && !this.even(round) ? ` team${round.result.winner & 1}` : ""}`,
          "aria-pressed": String(place === this.round),
          "data-keep": `round${place}`,
          on: { click: () => this.go(this.marks(place)[0]?.play ?? 0, place) },
        },
        h("strong", {}, this.roundName(round)),
        h("span", {}, [round.level && say("reviewed.level", { level: rankText(round.level) }), round.result && (this.even(round) ? say("reviewed.even") : `+${round.result.gain}`)].filter(Boolean).join(" · ")),
        h("span", { class: "quiet" }, say("reviewed.mistakes", { count: this.marks(place).length })),
      ),
    );
    return h("nav", { class: "review-rounds", "aria-label": say("reviewed.rounds") }, buttons);
  }

  curve() {
    const { curve: known, curve_of: viewer, plays } = this.here;
    const curve = known.length ? known : Array(plays.length + 1).fill(0);
    const value = known.length ? signed(curve[this.at]) : "–";
    const text =
      this.at < plays.length
        ? say("reviewed.at", { play: this.at + 1, plays: plays.length, value })
        : say("reviewed.atEnd", { value });
    const label =
      !known.length ? say("reviewed.walk")
      : viewer === null
        ? say("reviewed.curve", { names: this.team(0) })
        : say("reviewed.curveOf", { name: this.name(viewer), names: this.team(0) });
    const plot = curveView({ curve, marks: this.marks(this.round), at: this.at, label, text, top: this.top, go: (at) => this.go(at) });
    plot.dataset.keep = "curve";
    return h("section", { class: "panel review-value" }, h("p", {}, h("strong", {}, label), " — ", this.wonBy(this.here)), plot, h("p", { class: "quiet", "aria-live": "polite" }, text));
  }

  /** The value at the top of a curve: a whole number of levels, or a few blunders. */
  get top() {
    const { unit, thresholds } = this.review;
    return unit === "levels" ? 3 : 4 * thresholds.blunder;
  }

  controls() {
    const button = (keep, words, sign, action) =>
      h("button", { "data-keep": keep, title: say(words), "aria-label": say(words), on: { click: action } }, sign);
    const seats = this.review.players.map(({ seat }) => h("option", { value: String(seat), selected: this.seat === seat }, this.player(seat)));
    return h(
      "div",
      { class: "review-controls" },
      h(
        "div",
        { class: "review-steps", role: "group" },
        button("first", "reviewed.first", "|◀", () => this.go(0)),
        button("back", "reviewed.back", "◀", () => this.step(-1)),
        button("on", "reviewed.on", "▶", () => this.step(1)),
        button("last", "reviewed.last", "▶|", () => this.go(this.here.plays.length)),
      ),
      h(
        "div",
        { class: "review-steps", role: "group" },
        h("button", { "data-keep": "previous", on: { click: () => this.jump(-1) } }, "↑ ", say("reviewed.previousMistake")),
        h("button", { "data-keep": "next", class: "primary", on: { click: () => this.jump(1) } }, "↓ ", say("reviewed.nextMistake")),
      ),
      h(
        "label",
        {},
        h("input", { type: "checkbox", checked: this.only, "data-keep": "only", on: { change: (event) => ((this.only = event.target.checked), this.draw()) } }),
        " ",
        say("reviewed.onlyMistakes"),
      ),
      h(
        "label",
        {},
        h("span", { class: "visually-hidden" }, say("reviewed.whose")),
        h(
          "select",
          { "data-keep": "whose", on: { change: (event) => ((this.seat = event.target.value === "" ? null : Number(event.target.value)), this.draw()) } },
          h("option", { value: "", selected: this.seat === null }, say("reviewed.everybody")),
          seats,
        ),
      ),
    );
  }

  board() {
    const round = this.here;
    const { hands, left, trick, out } = tableAt(round, this.at);
    const play = round.plays[this.at] ?? null;
    const seats = PLACES[hands.length].map((seat) => this.seatView({ seat, hand: hands[seat], left: left[seat], trick: trick[seat], place: out.indexOf(seat), play }));
    return h("section", { class: "panel review-board", tabIndex: 0, "data-keep": "board", "aria-label": say(play ? "reviewed.table" : "reviewed.tableEnd") }, this.exchange(round), seats);
  }

  seatView({ seat, hand, left, trick, place, play }) {
    const level = this.here.level;
    const acts = play !== null && play.seat === seat;
    const cards = hand
      ? hand.map((name) => cardFace(name, { small: true, wild: isWild(name, level) }))
      : left && !this.wordsOnly
        ? h("span", { class: "quiet" }, say("reviewed.unknownHand"))
        : null;
    return h(
      "div",
      { class: `review-seat seat${seat} ${this.side(seat)}${acts ? " acts" : ""}` },
      h(
        "p",
        { class: "review-name" },
        h("strong", {}, this.name(seat)),
        " ",
        h("span", { class: "quiet" }, this.wordsOnly ? "" : left ? say("reviewed.cards", { count: left }) : place >= 0 ? say("reviewed.out", { place: place + 1 }) : ""),
        acts ? [" ", h("span", { class: "review-plays" }, say("reviewed.plays"), " "), moveCards(play.move, level)] : trick ? [" ", h("span", { class: "review-lies" }, moveCards(trick, level))] : null,
      ),
      h("div", { class: "review-hand" }, cards),
    );
  }

  /** Whether the round is of a game without cards. */
  get wordsOnly() {
    return this.here.plays[0]?.move[0] === "text";
  }

  exchange(round) {
    const told = [];
    for (const [key, list] of [["reviewed.tribute", round.tributes], ["reviewed.returned", round.returns]]) {
      for (const [giver, taker, card] of list) told.push(say(key, { giver: this.name(giver), taker: this.name(taker), card: cardText(card) }));
    }
    if (round.anti.length) told.push(say("reviewed.anti", { names: round.anti.map((seat) => this.name(seat)).join(", ") }));
    if (!told.length || this.at > 0) return null;
    for (const card of round.cards) {
      if (card.loss >= CARD_LOSS) told.push(say("reviewed.cardLoss", { name: this.name(card.seat), best: cardText(card.best), loss: card.loss.toFixed(2) }));
    }
    return h("p", { class: "quiet review-exchange" }, told.join(" · "));
  }

  judged() {
    const round = this.here;
    const play = round.plays[this.at];
    if (!play) return this.judgement(h("h2", {}, this.wonBy(round)), round.notes.map((note) => h("p", { class: "quiet" }, note)));
    const found = play.decision === null ? null : round.decisions[play.decision];
    const name = this.name(play.seat);
    const head = h("p", {}, say("reviewed.played", { name, move: spoken(play.move) }));
    if (!found) {
      return this.judgement(head, h("p", { class: "quiet" }, say(round.hands[play.seat] || this.wordsOnly ? "reviewed.forced" : "reviewed.notKnown")));
    }
    return this.judgement(
      h("p", { class: "review-verdict" }, badge(found.verdict), WRONG.includes(found.verdict) ? [" ", this.say("reviewed.cost", { loss: found.loss.toFixed(2), error: found.error.toFixed(2) })] : null),
      head,
      this.why(found, name).map((text) => h("p", {}, text)),
      found.moves.length > 1 ? this.candidates(found, play) : null,
      found.line.length ? this.line(found) : null,
    );
  }

  judgement(...parts) {
    return h("section", { class: "panel review-judged", tabIndex: 0, "data-keep": "judged", "aria-label": say("reviewed.judgement") }, parts);
  }

  /** Return what is to be said of a decision, sentence by sentence. */
  why(found, name) {
    const move = spoken(found.best);
    const wrong = WRONG.includes(found.verdict);
    const told = [];
    if (wrong) told.push(say("reviewed.better", { move }));
    else if (found.verdict === "level") told.push(say("reviewed.isLevel", { move }));
    else if (found.verdict === "best" && found.stage === "search") told.push(say("reviewed.isBest"));
    if (found.stage === "values") told.push(say("reviewed.byValues"));
    if (found.stage === "clear") told.push(say("reviewed.clear"));
    if (found.stage === "endgame") {
      const values = found.moves.map((each) => each.value);
      told.push(say(Math.max(...values) > Math.min(...values) ? "reviewed.endgame" : "reviewed.endgameLost", { move }));
    } else if (wrong && found.deals) {
      const { deals, better, worse } = found;
      told.push(say("reviewed.deals", { deals, name, move, better, worse }));
    }
    if (wrong && found.stage === "search" && found.as_it_lay !== null && found.as_it_lay !== 0) {
      told.push(say("reviewed.thisDeal", { levels: signed(found.as_it_lay, 1).replace("+", "") }));
    }
    return told;
  }

  candidates(found, play) {
    const best = found.moves[0].gain;
    const reach = Math.max(0.3, ...found.moves.map((each) => best - each.gain));
    const same = JSON.stringify(play.move);
    const rows = found.moves.map((each) => {
      const behind = best - each.gain;
      const played = JSON.stringify(each.move) === same;
      return h(
        "tr",
        { class: played ? "was-played" : "" },
        h("td", {}, moveCards(each.move, this.here.level), played ? h("span", { class: "review-tag" }, say("reviewed.thisPlayed")) : null),
        h("td", { class: "review-bar-cell" }, h("span", { class: "review-bar", style: { width: `${Math.max(3, 100 * (1 - behind / (1.15 * reach)))}%` } })),
        h("td", { class: "number" }, played ? "0" : `${signed(each.gain)} ± ${each.error.toFixed(2)}`),
        h("td", { class: "number" }, each.value === null ? "" : signed(each.value)),
      );
    });
    return h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "review-candidates" },
        h("caption", { class: "visually-hidden" }, say("reviewed.candidates")),
        tableHead([say("reviewed.candidates"), null, say("reviewed.gain"), say("reviewed.value")]),
        h("tbody", {}, rows),
      ),
    );
  }

  line(found) {
    const moves = found.line.map(({ seat, move }) => h("li", { class: this.side(seat) }, h("span", { class: "review-by" }, this.name(seat)), " ", moveCards(move, this.here.level)));
    return h("div", { class: "review-better" }, h("h3", {}, say("reviewed.line")), h("p", { class: "quiet" }, say(found.line_deal === "actual" ? "reviewed.lineActual" : "reviewed.lineLikely")), h("ol", {}, moves));
  }

  list() {
    const round = this.here;
    const rows = round.plays.map((play, k) => {
      const found = play.decision === null ? null : round.decisions[play.decision];
      const wrong = found !== null && WRONG.includes(found.verdict);
      if ((this.only && !wrong) || (this.seat !== null && round.players[play.seat] !== this.seat)) return null;
      return h(
        "li",
        {},
        h(
          "button",
          { class: `review-move ${this.side(play.seat)}${play.lead ? " lead" : ""}`, "aria-current": k === this.at ? "step" : null, "data-keep": `play${k}`, on: { click: () => this.go(k) } },
          h("span", { class: "review-number" }, String(k + 1)),
          h("span", { class: "review-by" }, this.name(play.seat)),
          h("span", {}, spoken(play.move)),
          wrong ? h("span", { class: `review-badge ${found.verdict}`, title: say(`reviewed.verdict.${found.verdict}`) }, `${SIGNS[found.verdict]} −${found.loss.toFixed(2)}`) : null,
        ),
      );
    });
    const shown = rows.some((row) => row !== null) ? rows : h("li", { class: "quiet" }, say("reviewed.none"));
    return h("section", { class: "panel" }, h("h2", {}, say("reviewed.moves")), h("ol", { class: "review-list" }, shown));
  }

  /** Return the class of the team that a player is in, if it is always the same. */
  sideOf(player) {
    const found = new Set(this.review.rounds.map((round) => this.side(round.players.indexOf(player), round)));
    return found.size === 1 ? [...found][0] : "";
  }

  players() {
    const heads = ["player", "judged", "good", ...WRONG.map((verdict) => `verdict.${verdict}`), "lost", "aRound", "asItLay"];
    const rows = this.review.players.map((player) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", class: this.sideOf(player.seat) }, this.player(player.seat)),
        h("td", { class: "number" }, String(player.decisions)),
        h("td", { class: "number" }, player.accuracy === null ? "–" : `${Math.round(100 * player.accuracy)} %`),
        WRONG.map((verdict) => h("td", { class: "number" }, String(player.verdicts[verdict]))),
        h("td", { class: "number" }, `${player.lost.toFixed(2)} ± ${player.error.toFixed(2)}`),
        h("td", { class: "number" }, player.lost_a_round.toFixed(2)),
        h("td", { class: "number" }, player.as_it_lay === null ? "–" : signed(player.as_it_lay, 1).replace("+", "")),
        h("td", { class: "review-jumps" }, player.costliest.slice(0, 3).map(([place, play]) => [h("button", { class: "review-jump", "data-keep": `dear${player.seat}-${place}-${play}`, on: { click: () => this.go(play, place) } }, `${place + 1}.${play + 1}`), " "])),
      ),
    );
    return h(
      "section",
      { class: "panel" },
      h("h2", {}, say("reviewed.players")),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          tableHead([...heads.map((key) => this.say(`reviewed.${key}`)), null]),
          h("tbody", {}, rows),
        ),
      ),
      this.review.unit === "levels" && h("p", { class: "quiet" }, say("reviewed.asItLayNote")),
    );
  }
}

/**
 * Show a review.
 * @param {Element} root
 * @param {object} review as `gs2 review --json` prints it
 * @param {object} services not used yet
 * @returns {function(): void} ends it: nothing listens any more
 */
export function start(root, review, services = {}) {
  void services;
  const page = h("div", { class: "review" });
  clear(root, page);
  const shown = new ReviewPage(page, review);
  const stop = () => {
    document.removeEventListener("keydown", keys);
    window.removeEventListener("gs2-language", words);
  };
  // a page that was taken away stops listening by itself
  const keys = (event) => (page.isConnected ? shown.key(event) : stop());
  const words = () => (page.isConnected ? shown.draw() : stop());
  document.addEventListener("keydown", keys);
  window.addEventListener("gs2-language", words);
  shown.draw();
  return stop;
}
