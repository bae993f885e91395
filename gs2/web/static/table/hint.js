// What would gs2 do: an explained decision, its moves as a table.

import { cardFace, isCard, isWild, moveWords, passes } from "gs2/cards.js";
import { h } from "gs2/dom.js";
import { pointsText } from "gs2/felt.js";
import { say, signed } from "gs2/words.js";

/** Moves of an agent's hint that are listed. */
const MOST_ADVISED = 6;
/** Deals of an explanation that are. */
const MOST_DEALS = 4;
const NOTES = { "too far behind": "far", "given up early": "early", wins: "wins", loses: "loses" };

function reason(explanation, said) {
  const best = explanation.moves[0];
  const stage = explanation.stage;
  if (["forced", "blueprint", "clear", "endgame"].includes(stage)) return say(`hint.${stage}`);
  if (stage === "subgame") return say("hint.subgame", { share: percent(best.refined) });
  if (explanation.play !== explanation.blueprint && best.gain !== null && best.gain !== undefined) {
    return say(stage === "open" ? "hint.open" : "hint.changed", {
      n: explanation.deals_sampled,
      gain: signed(best.gain),
      error: best.error.toFixed(2),
      usual: said(explanation.blueprint),
    });
  }
  return explanation.deals_sampled ? say("hint.kept", { n: explanation.deals_sampled }) : explanation.reason;
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

/** Return the cards of a move. */
function cardsOf(move) {
  return move && !passes(move) ? move[2] : [];
}

/** A bar from the middle: the gain, with its error as a lighter end on both sides. */
function gainBar(row, widest) {
  const bar = h("span", { class: "gain-bar", "aria-hidden": "true" });
  const share = (value) => Math.max(-1, Math.min(1, value / widest)) * 50;
  const [low, high] = [share(row.gain - row.error), share(row.gain + row.error)];
  const value = share(row.gain);
  const part = (kind, from, to) =>
    h("span", { class: kind, style: { left: `${50 + Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` } });
  bar.append(part(row.gain < 0 ? "loss" : "win", 0, value), part("spread", low, high));
  return bar;
}

function gainCell({ gain, error, note }, widest) {
  const known = gain !== null && gain !== undefined;
  if (!known) return h("span", { class: "quiet" }, note || "–");
  const value = gain === 0 && error === 0
    ? h("span", { class: "quiet" }, say("hint.usual"))
    : [h("div", {}, signed(gain), h("span", { class: "quiet" }, ` ± ${error.toFixed(2)}`)), gainBar({ gain, error }, widest)];
  return [value, note && h("div", { class: "quiet" }, note)];
}

/**
 * Return the moves of a hint as a table.
 * @param {{words: string, cards: string[], share: number, gain?: number | null, error?: number, note?: string, best?: boolean,
 *   take?: () => void}[]} rows gain: over the usual move. take: choose the move.
 * @param {{heads: [string, string][], level?: string, cell?: (row: any) => any}} options heads: of the last two columns and
 *   what they mean. cell: what the first of them holds, in place of the gain.
 */
function hintTable(rows, { heads, level = "", cell = null }) {
  const widest = Math.max(0.1, ...rows.map(({ gain, error }) => (gain === null || gain === undefined ? 0 : Math.abs(gain) + error)));
  const faces = (cards) => cards.length > 0 && h("span", { class: "hint-cards", "aria-hidden": "true" }, cards.map((card) => cardFace(card, { small: true, wild: isWild(card, level) })));
  return h("table", { class: "hint-moves" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("hint.move")), heads.map(([text, title]) => h("th", { scope: "col", class: "number", title }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", { class: row.best ? "best" : null },
      h("td", {}, row.take
        ? h("button", { type: "button", class: "take", title: say("hint.take"), on: { click: row.take } }, h("span", {}, row.words), faces(row.cards))
        : [h("span", {}, row.words), faces(row.cards)]),
      h("td", { class: "number" }, cell ? cell(row) : gainCell(row, widest)),
      h("td", { class: "number" }, percent(row.share))))));
}

/**
 * Return what an agent would do: its moves, each with what it gains in the deals searched, or what the agent thinks it is worth.
 * @param {{agent: string, moves: any[]}} hint the best move first
 * @param {{words: (move: any) => string, take: (move: any) => void}} act
 */
export function adviceView({ agent, moves }, { words, take }) {
  const valued = moves.some((move) => move.value !== null);
  const searched = moves.some((move) => move.gain !== null);
  const rows = moves.filter((move, i) => i < MOST_ADVISED && (valued || move.share > 0));
  const list = rows.map((row, i) => ({ ...row, words: words(row), cards: cardsOf(row.move), best: i === 0, take: () => take(row) }));
  const worth = ({ value }) => (value === null ? "–" : pointsText(Math.round(100 * value) / 100));
  const head = searched ? [say("games.hint.gain"), say("games.hint.gain.long")] : [say("games.hint.value"), say("games.hint.note")];
  return [
    h("p", { class: "hint-best" }, say("games.hint.best", { agent, move: words(moves[0]) })),
    hintTable(list, { heads: [head, [say("games.hint.share"), ""]], cell: searched ? null : worth }),
    h("p", { class: "quiet" }, searched ? say("games.hint.gain.long") : valued && say("games.hint.note")),
  ];
}

function dealView(deal, number, { names, level, said }) {
  return h("li", {},
    h("h4", {}, say("hint.deal", { n: number })),
    Object.entries(deal.hands).map(([seat, cards]) =>
      h("div", { class: "deal-hand" }, h("span", { class: "quiet" }, names[Number(seat)] ?? seat), " ",
        cards.split(" ").filter(isCard).map((card) => cardFace(card, { small: true, wild: isWild(card, level) }))),
    ),
    h("div", { class: "deal-results" }, Object.entries(deal.results).map(([move, value]) =>
      h("span", {}, say("hint.result", { move: said(move), value: signed(value) })))),
  );
}

/**
 * Return an explained decision as an element.
 * @param {any} explanation as `Explanation.to_json` gives it
 * @param {{names: string[], take: (cards: string[]) => void}} options names: of the seats. take: choose a move's cards.
 */
export function hintView(explanation, { names, take }) {
  const { level, moves } = explanation;
  const words = new Map(moves.map(({ move, notation }) => [move, moveWords(notation)]));
  const said = (text) => words.get(text) ?? text;
  const considered = explanation.deals_sampled > 0 && say(explanation.exact ? "hint.deals.exact" : "hint.deals", { n: explanation.deals_sampled });
  return h("div", { class: "hint-view" },
    h("p", { class: "hint-best" }, say("hint.best", { move: said(explanation.play) })),
    h("p", {}, reason(explanation, said)),
    hintTable(moves.map((row) => {
      const cards = cardsOf(row.notation);
      const note = NOTES[row.note] ? say(`hint.note.${NOTES[row.note]}`) : row.note;
      return { ...row, words: said(row.move), cards, note, share: row.refined, take: cards.length > 0 ? () => take(cards) : null };
    }), { level, heads: [[say("hint.gain.short"), say("hint.gain")], [say("hint.sure"), say("hint.sure.long")]] }),
    considered && h("p", { class: "quiet" }, considered),
    explanation.deals.length > 0 && h("details", {},
      h("summary", {}, say("hint.deals.some")),
      h("ol", { class: "deals" }, explanation.deals.slice(0, MOST_DEALS).map((deal, i) => dealView(deal, i + 1, { names, level, said })))),
  );
}
