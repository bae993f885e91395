// A GuanDan decision: its moves with bars, and the deals that matter most.
import { cardsText as cards } from "gs2/cards.js";
import { h, tableHead } from "gs2/dom.js";
import { say } from "gs2/words.js";
import { count, percent, signed } from "gs2/explore-words.js";
import { interval, legend, pair, panel } from "gs2/explore-plots.js";

function seatName(seat, me) {
  return say(`d.seat${(seat - me + 4) % 4}`);
}

function moves(told) {
  const compared = told.moves.filter((row) => row.gain !== null && row.error !== null);
  const low = Math.min(0, ...compared.map((row) => row.gain - row.error));
  const high = Math.max(0, ...compared.map((row) => row.gain + row.error));
  return panel(
    say("d.moves"), h("p", { class: "quiet" }, say("d.movesNote")), legend(),
    h("table", { class: "x-table x-moves" },
      tableHead([say("d.move"), null, say("x.blueprint"), say("x.refined"), say("d.gain"), null]),
      h("tbody", {}, told.moves.map((row) => h("tr", { class: row.move === told.play ? "x-chosen" : null },
        h("th", { scope: "row", lang: "en" }, cards(row.move), row.note ? h("small", { class: "quiet" }, ` ${row.note}`) : null),
        h("td", { class: "x-cell" }, pair(row.policy, row.refined)),
        h("td", { class: "number", "data-label": say("x.blueprint") }, percent(row.policy)),
        h("td", { class: "number", "data-label": say("x.refined") }, percent(row.refined)),
        h("td", { class: "number", "data-label": say("d.gain") }, row.gain === null ? "–" : `${signed(row.gain, 2)} ± ${row.error.toFixed(2)}`, row.rollouts ? h("small", { class: "quiet" }, ` ${say("d.rolled", { n: row.rollouts })}`) : null),
        h("td", { class: "x-cell" }, row.gain === null ? null : interval(row.gain, row.error, low, high)))))),
  );
}

function deals(told) {
  if (!told.deals.length) return null;
  return panel(
    say("d.deals"), h("p", { class: "quiet" }, say("d.dealsNote", { n: count(told.deals_sampled), how: say(told.exact ? "d.exact" : "d.sampled") })),
    h("ol", { class: "x-deals" }, told.deals.map((deal) => h("li", {},
      h("p", {}, `${say("d.weight")} ${percent(deal.weight)}`),
      h("dl", { class: "x-terms" }, Object.entries(deal.hands).map(([seat, held]) => [h("dt", {}, seatName(Number(seat), told.seat)), h("dd", { lang: "en" }, cards(held),
        seat in deal.alternative ? h("small", { class: "quiet" }, ` ${say("d.expects", { alternative: signed(deal.alternative[seat], 2), solved: signed(deal.solved[seat], 2), margin: signed(deal.margin[seat], 2) })}`) : null)])),
      Object.keys(deal.results).length ? h("p", { class: "quiet" }, `${say("d.worth")}: `, h("span", { lang: "en" }, Object.entries(deal.results).map(([move, value]) => `${cards(move)} ${signed(value, 1)}`).join("; "))) : null))),
  );
}

/** Return the panels of a decision. */
export function decisionPanels(told) {
  const left = told.left.map((held, seat) => [held, seat]).filter(([, seat]) => seat !== told.seat);
  return [
    h("section", { class: "panel x-panel" },
      h("h2", { class: "x-play" }, say("d.play", { move: cards(told.play) })),
      told.blueprint !== told.play ? h("p", {}, say("d.usual", { move: cards(told.blueprint) })) : null,
      h("p", { lang: "en" }, cards(told.reason)),
      h("dl", { class: "x-terms" },
        h("dt", {}, say("d.hand")), h("dd", { lang: "en" }, cards(told.hand)),
        h("dt", {}, say("d.level")), h("dd", {}, told.level),
        h("dt", {}, say("d.beat")), h("dd", { lang: told.to_beat ? "en" : null }, told.to_beat ? cards(told.to_beat) : say("d.lead")),
        h("dt", {}, say("d.left")), h("dd", {}, left.map(([held, seat]) => `${seatName(seat, told.seat)} ${held}`).join(" · ")))),
    moves(told),
    deals(told),
    told.notes.length ? panel(say("x.notes"), h("ul", { lang: "en" }, told.notes.map((note) => h("li", {}, note)))) : null,
  ];
}
