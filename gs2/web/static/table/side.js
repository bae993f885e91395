// Beside the table: the round's moves, and dialogs about keys, rounds and matches.

import { cardFace, isWild, moveWords } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { outcome, placeWords, seatName, signed, transfers, tricks } from "gs2/felt.js";
import { say } from "gs2/words.js";

/** Return the moves of a round, trick by trick, as a list. */
export function moveLog(state) {
  const { plays, level } = state.round;
  const given = transfers(state);
  if (plays.length === 0 && given.length === 0) return h("p", { class: "quiet" }, say("table.log.empty"));
  return h("ol", { class: "log" }, given,
    tricks(plays).map((trick) => h("li", { class: "log-trick" }, h("ol", { "aria-label": say("table.log.trick") }, trick.map((play) =>
      h("li", { class: `log-move team${play.seat % 2}` },
        h("span", { class: "log-who" }, seatName(state, play.seat)), " ",
        play.move[0] === "PASS"
          ? h("span", { class: "quiet" }, say("table.pass"))
          : [h("span", { class: "visually-hidden" }, moveWords(play.move)),
             h("span", { class: "log-cards", "aria-hidden": "true" }, play.move[2].map((card) => cardFace(card, { small: true, wild: isWild(card, level) })))],
      ))))));
}

/**
 * Show a dialog until it is closed; return it.
 * @param {string} title
 * @param {(close: () => void) => any} content
 * @param {() => void} [closed] told when it goes
 */
export function dialog(title, content, closed) {
  const id = `dialog-${Math.random().toString(36).slice(2)}`;
  const box = h("dialog", { class: "dialog", "aria-labelledby": id });
  const close = () => box.close();
  box.append(h("h2", { id }, title), ...[content(close)].flat(Infinity).filter((part) => part instanceof Node));
  box.addEventListener("close", () => {
    box.remove();
    closed?.();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Show which keys do what. */
export function helpDialog() {
  const row = (keys, text) => h("tr", {}, h("th", { scope: "row" }, keys.map((key, i) => [i > 0 && " ", h("kbd", {}, key)])), h("td", {}, say(text)));
  return dialog(say("help.title"), (close) => [
    h("table", { class: "keys" }, h("tbody", {},
      row([say("key.arrows")], "help.arrows"), row([say("key.space")], "help.space"), row([say("key.enter")], "help.enter"),
      row(["P"], "help.pass"), row(["S"], "help.suggest"), row(["H"], "help.hint"), row(["U"], "help.undo"),
      row([say("key.escape")], "help.clear"), row(["O"], "help.order"), row(["L"], "help.last"), row(["N"], "help.next"), row(["?"], "help.help"),
    )),
    h("p", {}, say("help.mouse")),
    h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close")),
  ]);
}

/** Show the trick before the one in play, or the last of a round. */
export function lastTrickDialog(state) {
  const all = tricks(state.round.plays);
  const running = state.round.trick.some((move) => move !== null);
  const trick = running ? all.at(-2) : all.at(-1);
  return dialog(say("table.last"), (close) => [
    trick
      ? h("ol", { class: "log" }, trick.map((play) => h("li", { class: `log-move team${play.seat % 2}` },
          h("span", { class: "log-who" }, seatName(state, play.seat)), " ", moveWords(play.move), " ",
          play.move[0] !== "PASS" && play.move[2].map((card) => cardFace(card, { small: true, wild: isWild(card, state.round.level) })))))
      : h("p", {}, say("table.last.none")),
    h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close")),
  ]);
}

function levelText(level) {
  return level === "T" ? "10" : level;
}

/** Return what a failure at A means for whom; nothing where there was none. */
function aceLine(state, result) {
  const { you } = state.table;
  if (result.failed === null) return null;
  const team = you === null ? say(`table.team${result.failed}`) : say(you % 2 === result.failed ? "table.us" : "table.them");
  return h("p", { class: "ace-line" }, say(result.dropped ? "result.dropped" : "result.failed", { team, k: result.fails[result.failed], n: state.match.tries, level: levelText(result.levels[result.failed]) }));
}

function roundTable(state, result) {
  const left = new Map(result.left);
  return h("ol", { class: "finish" }, result.order.map((seat, place) =>
    h("li", { class: `team${seat % 2}` },
      h("span", { class: "place" }, placeWords(place, result.gain === 3)), " ", h("b", {}, seatName(state, seat)),
      (left.get(seat) ?? []).length > 0 && h("div", { class: "left-cards" }, left.get(seat).map((card) => cardFace(card, { small: true, wild: isWild(card, result.level) }))),
    )));
}

function levelsLine(state, result) {
  const first = state.table.you === null ? 0 : state.table.you % 2;
  const name = (side) => (state.table.you === null ? say(`table.team${side}`) : say(side === first ? "table.us" : "table.them"));
  return say("table.levels", { us: name(first), a: levelText(result.levels[first]), them: name(1 - first), b: levelText(result.levels[1 - first]) });
}

/**
 * Show who won a round.
 * @param {any} state
 * @param {{next: () => void, review: () => void}} act next: asked for the next round
 */
export function roundDialog(state, act) {
  const result = state.results.at(-1);
  return dialog(say("result.round", { round: result.round }), (close) => [
    h("p", { class: `outcome team${result.winner}` }, outcome(state, result)),
    result.over && h("p", { class: "outcome" }, matchOutcome(state, state.games_over.at(-1))),
    aceLine(state, result),
    roundTable(state, result),
    h("p", {}, levelsLine(state, result)),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary next", autofocus: true, on: { click: () => { close(); act.next(); } } }, say("result.next")),
      h("button", { type: "button", on: { click: () => { close(); act.review(); } } }, say("app.review"))),
  ]);
}

function matchOutcome(state, over) {
  const { you } = state.table;
  const values = { rounds: over.rounds, team: over.winner === null ? "" : say(`table.team${over.winner}`) };
  if (over.winner === null) return say("result.match.draw", values);
  if (you === null) return say("result.match.won", values);
  return say(you % 2 === over.winner ? "result.match.you.won" : "result.match.you.lost", values);
}

/**
 * Show who won a match.
 * @param {any} state
 * @param {{review: () => void, record: string}} act record: address of the match's record
 */
export function matchDialog(state, act) {
  const over = state.games_over.at(-1);
  const result = state.results.at(-1);
  const rounds = state.results.filter((one) => one.game === undefined || one.game === result.game);
  const side = (state.table.you ?? 0) % 2;
  const team = (one) => say(state.table.you === null ? `table.team${one}` : one === side ? "table.us" : "table.them");
  return dialog(say("result.match"), (close) => [
    h("p", { class: `outcome team${over.winner}` }, matchOutcome(state, over)),
    roundTable(state, result),
    h("div", { class: "scroll" }, h("table", {},
      h("caption", { class: "visually-hidden" }, say("result.rounds")),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, say("result.rounds.number")), h("th", { scope: "col" }, say("result.order")), h("th", { scope: "col", class: "number" }, say("result.rounds.gain")), h("th", { scope: "col" }, `${team(side)} : ${team(1 - side)}`))),
      h("tbody", {}, rounds.map((one) => h("tr", {},
        h("td", { class: "number" }, one.round),
        h("td", {}, one.order.map((seat) => seatName(state, seat)).join(" · ")),
        h("td", { class: `number team${one.winner}` }, signed(one.rise)),
        h("td", {}, `${levelText(one.levels[side])} : ${levelText(one.levels[1 - side])}`)))))),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary", on: { click: () => { close(); act.review(); } } }, say("table.review")),
      h("a", { class: "button", href: act.record, download: "" }, say("table.record")),
      h("a", { class: "button", href: "#/", on: { click: close } }, say("result.lobby")),
      h("button", { type: "button", on: { click: close } }, say("result.stay"))),
  ]);
}

/** Ask for a name; return it through `sit`. */
export function nameDialog(name, sit) {
  const field = h("input", { type: "text", maxLength: 40, value: name, required: true, autocomplete: "nickname" });
  return dialog(say("table.join"), (close) => h("form", { method: "dialog", class: "stack", on: { submit: (event) => { event.preventDefault(); close(); sit(field.value.trim()); } } },
    h("label", {}, say("table.name"), field),
    h("div", { class: "row" },
      h("button", { type: "submit", class: "primary" }, say("table.sit")),
      h("button", { type: "button", on: { click: close } }, say("table.cancel")))));
}

