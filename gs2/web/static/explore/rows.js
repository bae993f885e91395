// Rows of refinement experiments as plots: what a search leaves of a blueprint's exploitability.
import { clear, h, languageButton } from "gs2/dom.js";
import { addWords, say } from "gs2/words.js";

const FORMAT = "gs2 rows";
const VERSION = 1;
const COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#9d755d", "#3a9fa0", "#c9a227", "#d67195", "#7f8a93", "#6b8e23", "#8c6bb1"];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
const DASHES = [[1, 0], [6, 3], [2, 2]];
const LEAST = 1e-6;

addWords({
  "r.unreadable": ["This page cannot read the data: it must be “{format}”, version {version}.", "无法读取数据：应为“{format}”，版本 {version}。"],
  "r.title": ["Refinement of blueprints", "蓝图的精化"],
  "r.about": ["Exploitability after every infoset of both players was searched, over the blueprint's: below 1 the search made the strategy better. Bars are 95 % bootstrap intervals over seeds.", "双方每个信息集都搜索之后的可利用度与蓝图之比：小于 1 表示搜索改进了策略。竖线是各种子的 95 % 自助法区间。"],
  "r.game": ["Game", "博弈"], "r.all": ["all", "全部"], "r.blueprint": ["Blueprint", "蓝图"], "r.limit": ["Limit of a search", "每次搜索的限制"],
  "r.mode": ["Mode", "方式"], "r.x": ["Against", "横轴"], "r.y": ["Shown", "纵轴"], "r.methods": ["Methods", "方法"],
  "r.k": ["histories kept, k", "保留的历史数 k"], "r.strength": ["the blueprint's exploitability", "蓝图的可利用度"],
  "r.time": ["limit, s for each infoset", "每个信息集的时间限制（秒）"], "r.method": ["method", "方法"],
  "r.ratio": ["exploitability over the blueprint's", "可利用度与蓝图之比"],
  "r.exploitability": ["exploitability (NashConv / 2)", "可利用度（NashConv / 2）"], "r.log": ["logarithmic", "对数轴"],
  "r.seeds": ["{n} {n:seed|seeds}", "{n} 个种子"], "r.interval": ["95 %: {low} to {high}", "95 %：{low} 至 {high}"],
  "r.ms": ["{ms} ms a search", "每次搜索 {ms} 毫秒"], "r.nodes": ["{n} {n:node|nodes}", "{n} 个节点"],
  "r.point": ["Point at a dot to read it.", "指向一点即可读数。"], "r.none": ["No row fits these choices.", "没有符合选择的行。"],
  "r.table": ["The numbers", "数据"], "r.count": ["{n} of {of} {of:cell|cells}", "{of} 格中的 {n} 格"], "r.save": ["Save as SVG", "保存为 SVG"],
  "r.every": ["All", "全选"], "r.noMethod": ["None", "清空"],
});

const AXES = {
  k: { field: "k", type: "quantitative", title: "r.k", fits: (row) => row.k !== null },
  strength: { field: "before", type: "quantitative", title: "r.strength", fits: () => true, log: true, reverse: true },
  time: { field: "seconds", type: "quantitative", title: "r.time", fits: (row) => row.seconds !== null, log: true },
  method: { field: "method", type: "nominal", title: "r.method", fits: () => true },
};

/** Return the values of a column in the order of first appearance. */
function values(rows, name) {
  return [...new Set(rows.map((row) => row[name]))];
}

/** Return the commonest value of a column. */
function commonest(rows, name) {
  const counts = new Map();
  for (const row of rows) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

/** Return a number to four digits, small ones to two. */
export function number(value) {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(4)));
}

function tell(row) {
  const words = [row.game, row.blueprint, row.method, row.mode, row.limit, `${number(row.exploitability)} (${number(row.ratio)})`];
  words.push(say("r.seeds", { n: row.seeds }) + (row.seeds > 1 ? `, ${say("r.interval", { low: number(row.low), high: number(row.high) })}` : ""));
  words.push(say("r.ms", { ms: number(row.median_ms) }), say("r.nodes", { n: number(row.nodes) }));
  return words.join(" · ");
}

/** Return the rows that are shown: those that the choices let through. */
function chosenRows(rows, choice) {
  const fits = (name) => (row) => !choice[name] || row[name] === choice[name];
  // Against the blueprint's strength all blueprints stand beside one another, against time all limits.
  const filters = ["game", choice.x === "strength" ? null : "blueprint", choice.x === "time" ? null : "limit", "mode"].filter(Boolean).map(fits);
  return rows.filter((row) => choice.methods.has(row.base) && filters.every((fit) => fit(row)));
}

/** Return the Vega-Lite specification of one game's plot. */
function specification(rows, choice, methods, colours, width) {
  const axis = AXES[choice.x];
  const ratio = choice.y === "ratio";
  const least = choice.log ? LEAST : -Infinity;
  const shown = rows.map((row, index) => ({
    ...row, index, colour: row.base,
    y: Math.max(ratio ? row.ratio : row.exploitability, least),
    y1: Math.max(ratio ? row.low : row.low * row.before, least),
    y2: Math.max(ratio ? row.high : row.high * row.before, least),
    // A method runs through its cells in one line; what differs besides is another line.
    line: [row.base, choice.x === "k" ? "" : row.k, choice.x === "strength" ? "" : row.blueprint, choice.x === "time" ? "" : row.limit, row.mode].join("|"),
  }));
  const points = shown.filter(axis.fits);
  const level = choice.x === "k" ? shown.filter((row) => !axis.fits(row)) : [];
  const scale = choice.log ? { type: "log" } : { zero: true };
  const x = { field: axis.field, type: axis.type, title: say(axis.title), scale: axis.log ? { type: "log", reverse: Boolean(axis.reverse) } : axis.type === "quantitative" ? { zero: false, nice: false, padding: 14 } : undefined, axis: axis.type === "nominal" ? { labelLimit: 130, labelAngle: -40 } : { tickCount: 5, format: axis.log ? "~g" : "d", tickMinStep: axis.log ? undefined : 1 } };
  const y = { field: "y", type: "quantitative", title: say(ratio ? "r.ratio" : "r.exploitability"), scale, axis: { format: choice.log ? "~g" : "~f", tickCount: 5 } };
  const color = { field: "colour", type: "nominal", legend: null, scale: { domain: methods, range: methods.map((_, index) => colours[index]) } };
  const shape = { field: "colour", type: "nominal", legend: null, scale: { domain: methods, range: methods.map((_, index) => SHAPES[index % SHAPES.length]) } };
  const dash = { field: "colour", type: "nominal", legend: null, scale: { domain: methods, range: methods.map((_, index) => DASHES[Math.floor(index / COLOURS.length) % DASHES.length]) } };
  const before = ratio ? 1 : Math.max(...rows.map((row) => row.before));
  const layer = [{ data: { values: [{ y: before }] }, mark: { type: "rule", strokeDash: [2, 3], color: choice.ink }, encoding: { y } }];
  if (level.length) layer.push({ data: { values: level }, mark: { type: "rule", strokeDash: [7, 3], strokeWidth: 1.5 }, encoding: { y, color } });
  if (axis.type !== "nominal") layer.push({ mark: { type: "line", strokeWidth: 1.5 }, encoding: { x, y, color, strokeDash: dash, detail: { field: "line", type: "nominal" }, order: { field: axis.field, type: "quantitative" } } });
  layer.push({ transform: [{ filter: "datum.seeds > 1" }], mark: { type: "rule", strokeWidth: 2 }, encoding: { x, y: { ...y, field: "y1" }, y2: { field: "y2" }, color } });
  layer.push({ mark: { type: "point", filled: true, size: 55, opacity: 1 }, encoding: { x, y, color, shape } });
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v5.json",
    width, height: 250, autosize: { type: "fit", contains: "padding" }, background: null, data: { values: points }, layer,
    config: { font: "system-ui, sans-serif", view: { stroke: choice.line }, axis: { labelColor: choice.quiet, titleColor: choice.quiet, gridColor: choice.line, domainColor: choice.quiet, tickColor: choice.quiet, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 11, gridOpacity: 0.6 } },
  };
}

/** Draw a plot without evaluating any text as code: expressions are interpreted. */
async function drawPlot(place, spec, pointed) {
  const { vega, vegaLite } = globalThis;
  const compiled = vegaLite.compile(spec, { logger: vega.logger(vega.Error) }).spec;
  const view = new vega.View(vega.parse(compiled, null, { ast: true }), { expr: vega.expressionInterpreter, renderer: "svg", container: place, logLevel: vega.Error });
  view.addEventListener("pointermove", (event, item) => pointed(item?.datum?.game ? item.datum : null));
  await view.runAsync();
  return view;
}

/**
 * Show rows.
 * @param {Element} root where. @param {object} told {format, version, title, rows}, as `experiments.refinement.report`
 *   makes it: each row with game, blueprint, base, k, method, mode, limit, seconds, seeds, ratio, low, high, …
 */
export function start(root, told) {
  const readable = told?.format === FORMAT && told.version === VERSION && globalThis.vega && globalThis.vegaLite;
  const rows = readable ? told.rows : [];
  const bases = values(rows, "base");
  const colours = bases.map((_, index) => COLOURS[index % COLOURS.length]);
  const choice = {
    game: "", blueprint: commonest(rows, "blueprint") || "", limit: commonest(rows, "limit") || "", mode: commonest(rows, "mode") || "",
    x: "k", y: "ratio", log: true, methods: new Set(bases.slice(0, COLOURS.length)),
  };
  if (!chosenRows(rows, choice).some(AXES.k.fits)) choice.x = "method";
  let views = [];
  let drawn = 0;

  const plots = h("div", { class: "r-plots" });
  const pointed = h("p", { class: "r-pointed", role: "status", lang: "en" });
  const table = h("tbody");
  const counted = h("p", { class: "quiet" });

  async function plot() {
    drawn += 1;
    const mine = drawn;
    const style = getComputedStyle(root);
    for (const name of ["ink", "quiet", "line"]) choice[name] = style.getPropertyValue(`--${name}`).trim();
    const chosen = chosenRows(rows, choice);
    const games = values(chosen, "game");
    views.forEach((view) => view.finalize());
    views = [];
    pointed.textContent = say("r.point");
    counted.textContent = chosen.length ? say("r.count", { n: chosen.length, of: rows.length }) : say("r.none");
    clear(table, chosen.map(line));
    clear(plots);
    for (const game of games) {
      const place = h("div", { class: "r-place" });
      const save = h("button", { type: "button", class: "r-save" }, say("r.save"));
      plots.append(h("figure", { class: "panel r-figure" }, h("figcaption", {}, h("span", { lang: "en" }, game), save), place));
      const mineRows = chosen.filter((row) => row.game === game);
      place.setAttribute("role", "img");
      place.setAttribute("aria-label", `${game}: ${mineRows.length}`);
      const view = await drawPlot(place, specification(mineRows, choice, bases, colours, Math.max(220, place.clientWidth)), (row) => { pointed.textContent = row ? tell(row) : say("r.point"); });
      if (mine !== drawn) {
        view.finalize();
        return;
      }
      views.push(view);
      save.addEventListener("click", () => download(view, game));
    }
  }

  async function download(view, game) {
    const url = URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }));
    h("a", { href: url, download: `${game}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  function line(row) {
    const cell = (text, kind = "number") => h("td", { class: kind }, text);
    return h("tr", {}, h("th", { scope: "row" }, row.game), cell(row.blueprint, null), cell(row.method, null), cell(row.limit, null), cell(row.mode, null), cell(number(row.exploitability)), cell(number(row.ratio)), cell(row.seeds > 1 ? `${number(row.low)}–${number(row.high)}` : ""), cell(row.seeds));
  }

  function select(name, options, every) {
    return h("label", { class: "r-field" }, h("span", {}, say(`r.${name}`)), h("select", { on: { change: (event) => { choice[name] = event.target.value; plot(); } } },
      every ? h("option", { value: "", selected: choice[name] === "" }, say("r.all")) : null,
      options.map(([value, text]) => h("option", { value, selected: choice[name] === value }, text))));
  }

  function named(list) {
    return list.map((value) => [value, value]);
  }

  function methodList() {
    const boxes = bases.map((base, index) => {
      const box = h("input", { type: "checkbox", checked: choice.methods.has(base) });
      box.addEventListener("change", () => {
        if (box.checked) choice.methods.add(base);
        else choice.methods.delete(base);
        plot();
      });
      return h("label", { class: "r-method" }, box, h("span", { class: "r-swatch", "aria-hidden": "true", style: { background: colours[index] } }), h("span", { lang: "en" }, base));
    });
    const all = (wanted) => () => {
      choice.methods = new Set(wanted ? bases : []);
      draw();
    };
    return h("fieldset", { class: "r-methods" }, h("legend", {}, say("r.methods")), boxes, h("span", { class: "r-buttons" }, h("button", { type: "button", on: { click: all(true) } }, say("r.every")), h("button", { type: "button", on: { click: all(false) } }, say("r.noMethod"))));
  }

  function draw() {
    if (!readable) {
      clear(root, h("p", { class: "panel", role: "alert" }, say("r.unreadable", { format: FORMAT, version: VERSION })));
      return;
    }
    const log = h("input", { type: "checkbox", checked: choice.log, on: { change: (event) => { choice.log = event.target.checked; plot(); } } });
    const heads = ["r.game", "r.blueprint", "r.method", "r.limit", "r.mode", "r.exploitability", "r.ratio", "95 %", "r.seeds"];
    clear(root, h(
      "div", { class: "r-page" },
      h("header", { class: "page-head" }, h("div", {}, h("h1", {}, say("r.title")), h("p", { class: "quiet", lang: "en" }, told.title)), languageButton()),
      h("p", {}, say("r.about")),
      h("div", { class: "panel r-controls" },
        select("game", named(values(rows, "game")), true), select("blueprint", named(values(rows, "blueprint")), true), select("limit", named(values(rows, "limit")), true), select("mode", named(values(rows, "mode")), true),
        select("x", Object.entries(AXES).map(([name, axis]) => [name, say(axis.title)])), select("y", [["ratio", say("r.ratio")], ["exploitability", say("r.exploitability")]]),
        h("label", { class: "r-method" }, log, say("r.log")), methodList()),
      counted, pointed, plots,
      h("details", {}, h("summary", {}, say("r.table")), h("div", { class: "scroll" }, h("table", { lang: "en" }, h("thead", {}, h("tr", {}, heads.map((key) => h("th", { scope: "col" }, key === "r.seeds" ? say(key, { n: "" }).trim() : say(key))))), table))),
    ));
    plot();
  }

  window.addEventListener("gs2-language", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => readable && plot());
  let timer = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(() => readable && plot(), 200);
  });
  draw();
}
