// The controls that search again: what was asked for, held to its limits by the server, not here.
import { clear, h } from "gs2/dom.js";
import { say } from "gs2/words.js";

/** Methods as `gs2 solve --methods` lists them; those with a k keep some histories. */
export const METHODS = ["gs2+", "gs2+path", "gs2-d", "gs2-r", "gs2-clusters", "gs2-s", "gs2", "rollout", "1-klss", "2-klss", "3-klss", "kluss", "maxmargin", "reach-maxmargin", "resolve", "path", "unsafe", "mirror-descent"];
const WITH_K = new Set(["gs2+", "gs2+path", "gs2-d", "gs2-r", "gs2-clusters", "gs2-s"]);
const GADGETS = ["unsafe", "resolve", "maxmargin", "reach-maxmargin", "path"];
const VARIANTS = ["cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "uniform"];
const WAIT = 250;
const MOST_K = 20;

let forms = 0;

/** Return the request with which a page begins. */
export function firstRequest() {
  return { game: "leduc_poker", infoset: "P1 holds Ks | raise", method: "gs2+", blueprint: { variant: "cfr", iterations: 100 }, seed: 0 };
}

/** Return a request without what is left to the method. */
function tidy(request) {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null && value !== "" && value !== undefined));
}

/** Return a request with a blueprint that is told in full. */
function whole(request) {
  return { ...request, blueprint: { variant: "cfr", iterations: 100, ...(request.blueprint || {}) } };
}

/** Return a request as text; what is left to the method makes no difference. */
function spelled(request) {
  return JSON.stringify(tidy(request));
}

/**
 * Return the form.
 * @param {object} request what is shown to begin with.
 * @param {object} before what was asked for at last; the form asks for `request` if that is another.
 * @param {object} services `games`, `infosets(game, grep)`, as `start` of `gs2/explore.js` takes them.
 * @param {(request: object) => void} ask called with a request when it was changed.
 * @returns {{element: Element, current: () => object, end: () => void}} current: the request that it shows.
 *   end: what ends it; it asks for nothing after that.
 */
export function searchForm(request, before, services, ask) {
  const mine = (forms += 1);
  const name = (part) => `x-form${mine}-${part}`;
  let asked = whole(request);
  let sent = spelled(whole(before));
  let ended = false;
  const timers = new Set();

  /** Return a function that calls `act` once things have been quiet for a while. */
  function debounced(act) {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timers.delete(timer);
      if (ended) return;
      timer = setTimeout(act, WAIT);
      timers.add(timer);
    };
  }

  function end() {
    ended = true;
    timers.forEach((timer) => clearTimeout(timer));
  }

  function go() {
    sent = spelled(asked);
    ask(tidy(asked));
  }
  const send = debounced(() => spelled(asked) !== sent && go());

  function set(part, value) {
    asked = { ...asked, [part]: value };
  }

  function change(part, value) {
    set(part, value);
    send();
  }

  function field(part, label, control) {
    control.id = name(part);
    return h("div", { class: `x-field x-field-${part}` }, h("label", { for: control.id }, label), control);
  }

  function choice(part, options, { none = false, read = () => asked[part], write = (value) => change(part, value) } = {}) {
    const shown = read() ?? "";
    const all = shown && !options.includes(shown) ? [shown, ...options] : options;
    return h("select", { on: { change: (event) => write(event.target.value || null) } },
      none ? h("option", { value: "", selected: shown === "" }, say("x.ownChoice")) : null,
      all.map((value) => h("option", { value, selected: value === shown }, value)));
  }

  function number(part, { min, max, step = 1, read = () => asked[part], write = (value) => change(part, value) }) {
    const input = h("input", { type: "number", min: String(min), max: String(max), step: String(step), inputMode: "decimal", placeholder: "–", value: read() ?? "" });
    input.addEventListener("input", () => {
      if (input.validity.valid) write(input.value === "" ? null : Number(input.value));
    });
    return input;
  }

  const gameList = h("datalist", { id: name("games") });
  const infosetList = h("datalist", { id: name("infosets") });
  const game = h("input", { type: "text", autocomplete: "off", spellcheck: false, value: asked.game, list: gameList.id });
  const infoset = h("input", { type: "text", autocomplete: "off", spellcheck: false, value: asked.infoset, list: infosetList.id });

  /** List infosets that hold what is typed; `first`: all, and choose one if the game has none of that name. */
  async function listInfosets(first) {
    if (!services.infosets) return;
    const listed = asked.game;
    let found = [];
    try {
      ({ infosets: found } = await services.infosets(listed, first ? "" : infoset.value));
    } catch {
      // the search itself says what is wrong
    }
    if (ended || asked.game !== listed) return; // another game has a list of its own
    clear(infosetList, found.map((row) => h("option", { value: row.infoset })));
    if (first && found.length && !found.some((row) => row.infoset === infoset.value)) {
      infoset.value = found[0].infoset;
      set("infoset", infoset.value);
    }
  }
  const listSoon = debounced(() => listInfosets(false));

  /** Search in another game, at an infoset that it has. */
  async function changeGame() {
    await listInfosets(true);
    send();
  }

  game.addEventListener("change", () => {
    set("game", game.value.trim());
    changeGame();
  });
  infoset.addEventListener("input", (event) => {
    // A name picked from the list comes without the kind of input that typing has.
    if (event instanceof InputEvent && event.inputType && event.inputType !== "insertReplacementText") listSoon();
    else change("infoset", infoset.value.trim());
  });
  infoset.addEventListener("change", () => change("infoset", infoset.value.trim()));
  clear(gameList, (services.games || []).map((row) => h("option", { value: row.name }, row.summary || "")));
  if (asked.game === whole(before).game) {
    listInfosets(false);
    send();
  } else changeGame();

  const k = h("input", { type: "range", min: "0", max: String(MOST_K), step: "1", value: String(asked.k ?? 0) });
  const kShown = h("output", { class: "x-out-value" });
  function showK() {
    const fits = WITH_K.has(asked.method);
    k.disabled = !fits;
    kShown.textContent = fits && Number(k.value) > 0 ? k.value : fits ? say("x.ownChoice") : "–";
    k.setAttribute("aria-valuetext", kShown.textContent);
  }
  k.addEventListener("input", () => {
    change("k", Number(k.value) || null);
    showK();
  });
  const method = choice("method", METHODS, { write: (value) => {
    if (!WITH_K.has(value)) {
      asked = { ...asked, k: null };
      k.value = "0";
    }
    change("method", value);
    showK();
  } });
  showK();

  const blueprint = (part, value) => change("blueprint", { ...asked.blueprint, [part]: value });
  const form = h(
    "form", { class: "panel x-form", "aria-label": say("x.search"), on: { submit: (event) => { event.preventDefault(); go(); } } },
    gameList, infosetList,
    field("game", say("x.game"), game), field("infoset", say("x.infosetLabel"), infoset), field("method", say("x.method"), method),
    h("div", { class: "x-field x-field-k" }, h("label", { for: name("k") }, say("x.k"), " ", kShown), Object.assign(k, { id: name("k") })),
    h("details", { class: "x-more" }, h("summary", {}, say("x.options")),
      h("div", { class: "x-fields" },
        field("variant", say("x.variant"), choice("variant", VARIANTS, { read: () => asked.blueprint.variant, write: (value) => blueprint("variant", value) })),
        field("blueprintIterations", say("x.blueprintIter"), number("blueprintIterations", { min: 1, max: 10000, read: () => asked.blueprint.iterations, write: (value) => value && blueprint("iterations", value) })),
        field("gadget", say("x.gadgetLabel"), choice("gadget", GADGETS, { none: true })),
        field("depth", say("x.depth"), number("depth", { min: 1, max: 100 })),
        field("iterations", say("x.iterLabel"), number("iterations", { min: 1, max: 20000 })),
        field("seconds", say("x.secondsLabel"), number("seconds", { min: 0.001, max: 60, step: "any" })),
        field("seed", say("x.seedLabel"), number("seed", { min: 0, max: Number.MAX_SAFE_INTEGER, write: (value) => change("seed", value ?? 0) })))),
    h("button", { type: "submit", class: "primary" }, say("x.again")),
  );
  return { element: form, current: () => tidy(asked), end };
}
