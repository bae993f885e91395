// What a search of a research game saw: strategy, histories, margins, the game's tree; and searching again.
import { cardsText } from "gs2/cards.js";
import { clear, h, languageButton, tableHead } from "gs2/dom.js";
import { say } from "gs2/words.js";
import { count, percent, plain, signed } from "gs2/explore-words.js";
import { diverging, dotLegend, dots, dumbbells, legend, pair, panel, stages } from "gs2/explore-plots.js";
import { treeView } from "gs2/explore-tree.js";
import { firstRequest, searchForm } from "gs2/explore-form.js";
import { decisionPanels } from "gs2/explore-decision.js";

const FORMAT = "gs2 solve";
const VERSION = 1;
const FEW = 12;

function readable(solved) {
  return solved && solved.format === FORMAT && solved.version === VERSION;
}

function head(solved, alone) {
  const search = solved.kind === "search";
  const by = solved.blueprint_spec ? say("x.by", { method: solved.method, blueprint: solved.blueprint_spec }) : say("x.byPlain", { method: solved.method });
  return h(
    "header", { class: "page-head" },
    h("div", {},
      h("p", { class: "quiet" }, search ? h("span", { lang: "en" }, solved.game) : "GuanDan", search ? ` · ${say("x.acts", { n: solved.player })} · ${by}` : solved.title ? ` · ${solved.title}` : null),
      h("h1", { lang: "en" }, search ? solved.infoset : cardsText(solved.hand))),
    alone && languageButton(),
  );
}

function tile(name, before, after, note) {
  return h("div", { class: "panel x-tile" }, h("p", { class: "quiet" }, name), h("p", { class: "x-figure" }, before === null ? null : h("span", { class: "quiet" }, before, " → "), h("b", {}, after)), note ? h("p", { class: "quiet x-small" }, note) : null);
}

function tiles(solved) {
  const whole = solved.whole_game;
  const total = Object.values(solved.seconds).reduce((sum, value) => sum + value, 0);
  return h(
    "div", { class: "x-tiles" },
    tile(say("x.tileValue"), signed(solved.blueprint_value), signed(solved.value), say("x.alone")),
    whole ? tile(say("x.tileBest"), signed(whole.opponent_best_response[0]), signed(whole.opponent_best_response[1]), say("x.inWhole")) : null,
    whole ? tile(say("x.tileExploit"), plain(whole.exploitability[0]), plain(whole.exploitability[1]), say("x.inWhole")) : null,
    tile(say("x.tileSubgame"), null, say("x.nodes", { n: count(solved.nodes) }), say("x.iterations", { n: count(solved.iterations) })),
    tile(say("x.tileTime"), null, `${(1000 * total).toFixed(total < 0.1 ? 1 : 0)} ms`),
  );
}

function strategy(solved) {
  const note = !solved.kept_refined ? say("x.kept0") : solved.anchor < 1 ? say("x.anchored", { share: percent(solved.anchor) }) : null;
  return panel(
    say("x.strategy"), h("p", { class: "quiet" }, say("x.strategyNote")), legend(),
    h("table", { class: "x-table x-actions" },
      tableHead([say("x.action"), null, say("x.blueprint"), say("x.refined"), say("x.value")]),
      h("tbody", {}, solved.actions.map((row) => h("tr", {},
        h("th", { scope: "row", lang: "en" }, row.action),
        h("td", { class: "x-cell" }, pair(row.blueprint, row.refined)),
        h("td", { class: "number", "data-label": say("x.blueprint") }, percent(row.blueprint)),
        h("td", { class: "number", "data-label": say("x.refined") }, h("b", {}, percent(row.refined))),
        h("td", { class: "number", "data-label": say("x.value") }, signed(row.value), row.error == null ? "" : ` ± ${row.error.toFixed(4)}`))))),
    note ? h("p", {}, note) : null,
  );
}

/** Return an element that shows rows, few at first, and the button for all of them; `show(rows)` makes what it holds. */
function folded(body, rows, show) {
  let all = rows.length <= FEW + 3;
  const button = h("button", { type: "button", class: "x-fold", on: { click: () => { all = !all; fill(); } } });
  function fill() {
    clear(body, show(all ? rows : rows.slice(0, FEW)));
    button.textContent = all ? say("x.fewRows") : say("x.allRows", { n: count(rows.length) });
    button.setAttribute("aria-expanded", String(all));
  }
  const needed = !all;
  fill();
  return { body, button: needed ? button : null };
}

function mark(row) {
  if (!row.kept) return say("x.out");
  const words = [say(row.generated ? "x.generated" : "x.completes")];
  if (row.frozen) words.push(say("x.frozen"));
  if (row.summary) words.push(say("x.summary"));
  return words.join(", ");
}

function histories(solved) {
  const rows = [...solved.histories].sort((a, b) => Number(b.kept) - Number(a.kept) || Number(b.generated) - Number(a.generated) || b.reach - a.reach);
  const counts = { considered: count(solved.histories_considered), generated: count(solved.histories_generated), kept: count(solved.histories_kept) };
  const shown = h("p", { class: "x-pointed", role: "status", lang: "en" }, "\u00a0");
  const widest = Math.max(...rows.map((row) => row.reach), 1e-12);
  const line = (row) => h("tr", { class: row.kept ? null : "x-left-out" },
    h("th", { scope: "row", lang: "en" }, row.history),
    h("td", { class: "number", "data-label": say("x.reach") }, h("span", { class: "x-bar x-after x-inlinebar", "aria-hidden": "true" }, h("i", { style: { width: `${(100 * row.reach) / widest}%` } })), percent(row.reach)),
    h("td", { class: "number", "data-label": say("x.theirs") }, plain(row.opponent_reach)),
    h("td", { class: "number", "data-label": say("x.alternative") }, signed(row.alternative)),
    h("td", { "data-label": say("x.mark") }, h("span", { class: row.kept ? "x-tag x-tag-in" : "x-tag" }, mark(row))));
  const table = folded(h("tbody"), rows, (shown) => shown.map(line));
  return panel(
    say("x.histories"),
    h("p", {}, say("x.historiesCount", counts), rows.length < solved.histories_considered ? ` ${say("x.listed", { n: count(rows.length), of: counts.considered })}` : null),
    h("p", { class: "quiet" }, say("x.historiesNote")),
    dots(rows, (index) => {
      const row = index === null ? null : rows[index];
      shown.textContent = row ? `${row.history} · ${signed(row.alternative)} · ${percent(row.reach)} · ${mark(row)}` : "\u00a0";
    }),
    shown,
    h("div", { class: "scroll" }, h("table", { class: "x-table x-histories" },
      tableHead([say("x.history"), say("x.reach"), say("x.theirs"), say("x.alternative"), say("x.mark")], [0, 4]),
      table.body)),
    table.button,
  );
}

function margins(solved) {
  const rows = [...solved.opponents].sort((a, b) => Number(a.margin === null) - Number(b.margin === null) || (a.margin ?? 0) - (b.margin ?? 0));
  if (!rows.length) return null;
  const there = rows.filter((row) => row.margin !== null);
  const line = (row) => ({ label: row.infoset, alternative: row.alternative, solved: row.solved, value: row.margin ?? 0 });
  const { body, button } = folded(h("div"), rows, (shown) => diverging(shown.map(line)));
  return panel(say("x.margins"), h("p", { class: "quiet" }, say("x.marginsNote")), there.length ? h("p", {}, say("x.least", { value: signed(Math.min(...there.map((row) => row.margin))) })) : null, body, button);
}

function wholeGame(solved) {
  const whole = solved.whole_game;
  if (!whole) {
    const size = solved.sampled;
    return panel(say("x.whole"), h("p", {}, say("x.noWhole")), size ? h("p", { class: "quiet" }, say("x.sample", { histories: count(size.histories), effective: plain(size.effective, 1), opponents: count(size.opponents), drawn: count(size.drawn) }), size.complete ? ` ${say("x.sampleAll")}` : null) : null);
  }
  const [before, after] = whole.best_response;
  const rows = before.map((value, seat) => ({ label: say("x.bestOf", { n: seat }), before: value, after: after[seat] }));
  rows.push({ label: say("x.exploitability"), before: whole.exploitability[0], after: whole.exploitability[1] });
  return panel(say("x.whole"), h("p", { class: "quiet" }, say("x.wholeNote", { histories: count(whole.histories), replaced: count(whole.replaced) })), dotLegend(), dumbbells(rows));
}

function treePanel(solved, kept) {
  if (!solved.trees) return panel(say("x.tree"), h("p", { class: "quiet" }, say("x.noTree")));
  const views = [["seen", "x.seen"], ["histories", "x.byHistory"]].filter(([name]) => solved.trees[name]);
  let chosen = solved.trees[kept.view] ? kept.view : views[0][0];
  const box = h("div");
  const buttons = views.map(([name, key]) => h("button", { type: "button", on: { click: () => { chosen = kept.view = name; fill(); } } }, say(key)));
  function fill() {
    const tree = solved.trees[chosen];
    views.forEach(([name], index) => buttons[index].setAttribute("aria-pressed", String(name === chosen)));
    const roots = tree.nodes.filter((node) => node.parent === null).length;
    const numbers = { most: count(tree.most), cut: count(tree.cut), histories: count(tree.histories), n: count(tree.nodes.length) };
    clear(box,
      treeView(tree, solved.player, say("x.tree")),
      h("p", { class: "quiet x-small" }, say(tree.cut ? "x.treeCut" : "x.treeAll", numbers), tree.roots > roots ? ` ${say("x.rootsCut", { n: count(roots), of: count(tree.roots) })}` : null));
  }
  fill();
  return panel(
    say("x.tree"), h("p", { class: "quiet" }, say("x.treeNote")),
    h("div", { class: "x-toolbar" }, views.length > 1 ? h("div", { class: "x-choice", role: "group", "aria-label": say("x.view") }, buttons) : null, legend()),
    box,
  );
}

function found(solved) {
  const numbers = { nodes: count(solved.nodes), decisions: count(solved.decisions), infosets: count(solved.infosets), iterations: count(solved.iterations), variant: solved.variant, gap: plain(solved.gap, 6) };
  return panel(
    say("x.found"), h("p", {}, say("x.size", numbers), ` · ${say("x.gadget")}: `, h("span", { lang: "en" }, solved.gadget), solved.seed === undefined ? null : ` · ${say("x.seed")}: ${solved.seed}`),
    solved.cut_off.length ? [h("h3", {}, say("x.notes")), h("ul", { lang: "en" }, solved.cut_off.map((note) => h("li", {}, note)))] : null,
    h("h3", {}, say("x.seconds")), stages(solved.seconds),
    h("details", {}, h("summary", {}, say("x.config")), h("dl", { class: "x-terms x-config", lang: "en" }, Object.entries(solved.config).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value === null ? "–" : String(value))]))),
  );
}

/** Return the panels of a search or a decision. */
function panels(solved, kept) {
  if (!readable(solved)) return [h("p", { class: "panel x-panel", role: "alert" }, say("x.unreadable", { format: FORMAT, version: VERSION }))];
  if (solved.kind !== "search") return [head(solved, kept.alone), decisionPanels(solved)];
  return [
    head(solved, kept.alone), tiles(solved),
    h("div", { class: "x-columns" }, strategy(solved), wholeGame(solved)),
    treePanel(solved, kept), histories(solved), margins(solved), found(solved),
  ];
}

/**
 * Show a search; with services, search again.
 * @param {Element} root where.
 * @param {object|null} solved `gs2.explore.solve_picture.solve_picture`, or `decision_picture`; null to search first.
 * @param {object} services `search(request, progress, signal) -> Promise<solved>`, progress told {done, of};
 *   `games`, a list; `infosets(game, grep)`, a promise of {infosets: list}; lists as `gs2.explore.requests` makes
 *   them; `hash.read()` and `hash.write(request)` keep the request in the address. All but `search` may be absent.
 * @returns {() => void} what ends it: a search in flight is cancelled.
 */
export function start(root, solved, services = {}) {
  const kept = { view: "seen", alone: !services.search };
  const box = h("div", { class: "x-page" });
  const results = h("div", { class: "x-results" });
  const status = h("p", { class: "x-status", role: "status" });
  const problem = h("p", { class: "x-problem panel", role: "alert", hidden: true });
  const cancel = h("button", { type: "button", hidden: true, on: { click: () => stop(true) } });
  let request = services.hash?.read() || solved?.request || firstRequest();
  let form = null;
  let flight = null;
  let drawn = false;
  let ended = false;

  function show() {
    if (solved) clear(results, panels(solved, kept));
  }

  function stop(told) {
    flight?.abort();
    flight = null;
    results.setAttribute("aria-busy", "false");
    cancel.hidden = true;
    if (told) status.textContent = say("x.cancelled");
  }

  async function ask(wanted) {
    if (ended) return; // the address and the server are another view's
    stop(false);
    request = wanted;
    services.hash?.write(wanted);
    const mine = new AbortController();
    flight = mine;
    problem.hidden = true;
    status.textContent = say("x.searching");
    cancel.hidden = false;
    results.setAttribute("aria-busy", "true");
    const began = performance.now();
    const progress = (job) => { if (flight === mine && job?.of) status.textContent = `${say("x.searching")} ${job.done}/${job.of}`; };
    try {
      const answer = await services.search(wanted, progress, mine.signal);
      if (flight !== mine) return;
      stop(false);
      if (!answer) return; // given up elsewhere
      solved = answer;
      status.textContent = say("x.ready", { ms: Math.round(performance.now() - began) });
      show();
    } catch (error) {
      if (flight !== mine) return;
      stop(false);
      status.textContent = "";
      problem.textContent = error instanceof Error ? error.message : String(error);
      problem.hidden = false;
    }
  }

  function draw() {
    if (drawn && !box.isConnected) {
      end(); // another view has taken the place
      return;
    }
    drawn = true;
    cancel.textContent = say("x.cancel");
    if (services.search) {
      form?.end();
      form = searchForm(form ? form.current() : request, request, services, ask);
      clear(box, form.element, h("div", { class: "x-line" }, status, cancel), problem, results);
    } else clear(box, results);
    show();
  }

  function end() {
    ended = true;
    form?.end();
    stop(false);
    window.removeEventListener("gs2-language", draw);
  }

  window.addEventListener("gs2-language", draw);
  clear(root, box);
  draw();
  if (services.search && (!solved || services.hash?.read())) ask(request);
  return end;
}

