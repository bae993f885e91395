// Where tables of all games are made and found.

import { cardFace, rankText } from "gs2/cards.js";
import { clear, h } from "gs2/dom.js";
import { PLACES, pointsText } from "gs2/felt.js";
import { gameTitle, seatLabel, worded } from "gs2/game-faces.js";
import { ask, keep, kept } from "gs2/store.js";
import { language, say } from "gs2/words.js";
import "gs2/table-words.js";

/** Milliseconds between two looks at the list of tables. */
const LOOK_AGAIN = 5000;
const PERSON = "person";
/** Seconds between the moves of agents, unless something else is entered. */
const USUAL_PACE = "0.7";
/** Cards that greet. */
const SHOWN = ["ST", "SJ", "SQ", "H2", "SA"];
/** Options that matter most: they stand before the seats. */
const FIRST = ["landlord", "players"];

/** Whether an agent can play a game: any, or the one that it was trained on. */
function canPlay(agent, game) {
  return agent.exactly === null || agent.exactly === game;
}

/** Return how a value is spelled in a game's name. */
function spelled(value) {
  return Array.isArray(value) ? value.join("/") : String(value);
}

/** Return what was kept as JSON, or null where there is none, or another version kept it. */
function keptList(name) {
  try {
    return JSON.parse(kept(name, "null"));
  } catch {
    return null;
  }
}

/** The page on which tables are made and found. */
export class Lobby {
  /**
   * @param {HTMLElement} root
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, app) {
    Object.assign(this, { root, app, games: [], tables: null, seats: [], options: {}, busy: false, left: false });
    // what is set is kept here too: the browser may keep nothing
    this.set = { name: kept("name"), games: "1", pace: kept("pace", USUAL_PACE), seed: "", rotate: kept("game-rotate", "yes") === "yes" };
    this.redraw();
    this.load();
    this.timer = setInterval(() => document.hidden || this.look(), LOOK_AGAIN);
  }

  stop() {
    this.left = true; // an answer that comes later must not draw over the next view
    clearInterval(this.timer);
  }

  async load() {
    try {
      const { games } = await ask("/api/offers");
      if (this.left) return;
      this.games = games;
      const before = kept("game");
      this.pick(games.some((game) => game.name === before) ? before : games[0].name);
    } catch (error) {
      this.fail(error);
    }
    if (!this.left) await this.look();
  }

  async look() {
    try {
      const { tables } = await ask("/api/tables");
      if (this.left) return;
      this.tables = tables;
      this.drawTables();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    if (!this.left) this.place.error.textContent = say("app.failed", { text: error.message });
  }

  // --- what is chosen ---

  /** The chosen game; undefined before the server has said which there are. */
  get game() {
    return this.games.find((game) => game.name === this.name);
  }

  /** The chosen game's name with its options, as the server spells it. */
  get fullName() {
    const words = this.game.options.filter(({ name, default: usual }) => spelled(this.options[name]) !== spelled(usual)).map(({ name }) => `${name}=${spelled(this.options[name])}`);
    return words.length ? `${this.name}(${words.join(",")})` : this.name;
  }

  /** Labels of the agents that play the chosen game with its options. */
  get labels() {
    return this.game.agents.filter((agent) => canPlay(agent, this.fullName)).map((agent) => agent.label);
  }

  /** The agent that one usually meets, and another. */
  get usual() {
    const { labels } = this;
    const [best, other = best] = new Set([...(this.game.usual ?? []).filter((name) => labels.includes(name)), ...labels]);
    return { best, other };
  }

  /** Choose a game. */
  pick(name) {
    this.name = name;
    keep("game", name);
    const before = keptList(`game-options-${name}`) ?? {};
    this.options = Object.fromEntries(this.game.options.map((option) => [option.name, before[option.name] ?? option.default]));
    const seats = keptList(`seats-${name}`);
    this.seats = Array.isArray(seats) ? seats : [PERSON];
    this.redraw();
  }

  /** Give every seat somebody who can sit there. */
  fill() {
    const { best } = this.usual;
    const known = [PERSON, ...this.labels];
    this.seats = Array.from({ length: this.options.players ?? this.game.seats }, (_, i) => (known.includes(this.seats[i]) ? this.seats[i] : best));
  }

  // --- the page ---

  redraw() {
    if (this.game) this.fill();
    const focused = document.activeElement?.dataset?.field;
    this.place = {
      error: h("p", { class: "error", role: "alert" }),
      tables: h("ul", { class: "table-list" }),
      start: h("button", { type: "submit", class: "primary large" }),
    };
    this.drawnTables = "";
    clear(this.root, h("div", { class: "page lobby" },
      h("header", { class: "hero" },
        h("div", {}, h("h1", {}, say("lobby.title")), h("p", {}, say("lobby.about"))),
        h("div", { class: "hero-cards", "aria-hidden": "true" }, SHOWN.map((name) => cardFace(name, { wild: name === "H2" })))),
      this.place.error,
      h("div", { class: "lobby-columns" }, this.form(), h("div", { class: "stack" }, this.list(), this.elsewhere()))));
    this.drawStart();
    this.drawTables();
    if (focused) this.root.querySelector(`[data-field="${focused}"]`)?.focus();
  }

  drawStart() {
    const watched = this.game && !this.seats.includes(PERSON);
    this.place.start.textContent = say(this.busy ? "lobby.busy" : watched ? "lobby.watch" : "lobby.start");
    this.place.start.disabled = this.busy || !this.game;
  }

  form() {
    const enter = (name, options) => (this.fields[name] = h("input", { "data-field": name, value: this.set[name], ...options, on: { input: () => { this.set[name] = this.fields[name].value; } } }));
    const field = (key, input) => h("label", { class: "field" }, h("span", {}, say(key)), input);
    this.fields = {};
    const name = enter("name", { type: "text", maxLength: 40, autocomplete: "nickname" });
    const games = enter("games", { type: "number", min: "1", max: "20" });
    const pace = enter("pace", { type: "number", min: "0", max: "10", step: "0.1" });
    const seed = enter("seed", { type: "text", inputMode: "numeric", pattern: "[0-9]*" });
    const rotate = h("input", { type: "checkbox", checked: this.set.rotate, "data-field": "rotate", on: { change: () => { this.set.rotate = rotate.checked; } } });
    const options = (first) => (this.game?.options ?? []).filter((option) => FIRST.includes(option.name) === first).map((option) => this.option(option));
    const matches = this.game?.matches ?? !this.game;
    return h("form", { class: "panel stack", on: { submit: (event) => { event.preventDefault(); this.create(); } } },
      h("h2", {}, say("lobby.new")),
      this.game && field("games.game", this.games.length > 1 && this.gameSelect()),
      options(true),
      h("div", { class: "row presets", role: "group", "aria-label": say("lobby.presets") }, this.presets()),
      field("lobby.name", name),
      h("fieldset", { class: "seats" }, h("legend", {}, say("lobby.seats")), this.game && h("div", { class: "seat-picker" }, h("div", { class: "mini-felt", "aria-hidden": "true" }), this.seats.map((_, seat) => this.picker(seat)))),
      (this.more = h("details", { open: this.more?.open ?? false }, h("summary", {}, say("lobby.more")),
        matches ? field("lobby.matches", games) : h("label", { class: "check" }, rotate, " ", say("games.rotate")),
        options(false),
        field("lobby.pace", pace),
        field("lobby.seed", seed))),
      this.place.start);
  }

  gameSelect() {
    const select = h("select", { class: "game-select", "data-field": "game", on: { change: () => this.pick(select.value) } },
      this.games.map(({ name }) => h("option", { value: name, selected: name === this.name }, gameTitle(name))));
    return select;
  }

  presets() {
    if (!this.game) return [];
    const { best, other } = this.usual;
    const n = this.seats.length;
    const { teams } = this.game;
    const preset = (name, seats) => {
      const key = `lobby.preset.${name}${teams ? "" : n === 2 && name === "friend" ? ".two" : ".game"}`;
      return h("button", { type: "button", on: { click: () => { this.seats = seats; this.redraw(); this.create(); } } }, say(name === "watch" ? "lobby.preset.watch" : key, { agent: best, other }));
    };
    const filled = (of) => Array.from({ length: n }, (_, i) => of(i));
    return [
      preset("play", filled((i) => (i === 0 ? PERSON : best))),
      preset("friend", filled((i) => (i === 0 || i === (teams?.indexOf(teams[0], 1) ?? 1) ? PERSON : best))),
      preset("watch", filled((i) => (i % 2 ? other : best))),
    ];
  }

  /** Return the field of a game's option. */
  option(option) {
    const { name, kind } = option;
    const label = worded(`option.${this.name}.${name}`, name.replaceAll("_", " "));
    const doc = worded(`option.${this.name}.${name}.doc`, language() === "en" ? option.doc : ""); // the server's is English
    const value = this.options[name];
    const more = { "data-option": name, "data-field": `option-${name}` };
    let input;
    const set = (read) => { this.options[name] = read; keep(`game-options-${this.name}`, JSON.stringify(this.options)); this.redraw(); };
    if (kind === "bool") input = h("input", { ...more, type: "checkbox", checked: value, on: { change: () => set(input.checked) } });
    else if (kind === "choice") {
      input = h("select", { ...more, on: { change: () => set(input.value) } },
        option.choices.map((choice) => h("option", { value: choice, selected: choice === value }, worded(`choice.${this.name}.${name}.${choice}`, choice))));
    } else if (kind === "int") {
      input = h("input", { ...more, type: "number", min: String(option.low), max: String(option.high), step: "1", value: String(value), on: { change: () => set(Math.round(Math.min(option.high, Math.max(option.low, Number(input.value) || option.default)))) } });
    } else {
      input = h("input", { ...more, type: "text", value: value.join("/"), on: { change: () => set(input.value.split("/").map(Number).filter(Number.isInteger)) } });
    }
    const texts = h("span", {}, label, doc && doc !== label && h("span", { class: "option-doc" }, ` – ${doc}`));
    return kind === "bool" ? h("label", { class: "check" }, input, " ", texts) : h("label", { class: "field" }, texts, input);
  }

  /** Return what chooses who has a seat: the first person is whoever makes the table. */
  picker(seat) {
    const { teams } = this.game;
    const first = this.seats.findIndex((one) => one === PERSON);
    const option = (value, text) => h("option", { value, selected: this.seats[seat] === value }, text);
    const select = h("select", { "data-seat": seat, "data-field": `seat-${seat}`, on: { change: () => { this.seats[seat] = select.value; this.redraw(); } } },
      option(PERSON, say(first === -1 || seat <= first ? "lobby.me" : "lobby.friend")),
      this.labels.map((name) => option(name, name)));
    return h("label", { class: `pick ${PLACES[this.seats.length][seat]}${teams ? ` team${teams[seat]}` : ""}` }, h("span", {}, seatLabel(this.fullName, seat)), select);
  }

  async create() {
    if (this.busy || !this.game) return;
    const { name, games, seed, rotate } = this.set;
    const pace = this.set.pace.trim() || USUAL_PACE;
    keep("name", name.trim());
    keep("pace", pace);
    keep("game-rotate", rotate ? "yes" : "no");
    keep(`seats-${this.name}`, JSON.stringify(this.seats));
    this.busy = true;
    this.drawStart();
    try {
      const table = await ask("/api/tables", {
        json: {
          game: this.name,
          options: this.options,
          seats: this.seats,
          name: name.trim(),
          games: Number(games) || 1,
          rotate,
          pace: Number(pace),
          seed: seed.trim() || null, // as text: a number would lose digits above 2 ** 53
        },
      });
      if (table.key) keep(`seat-${table.id}`, table.key);
      if (!this.left) this.app.go(`#/table/${table.id}`); // else it is in the list
    } catch (error) {
      this.busy = false;
      this.drawStart();
      this.fail(error);
    }
  }

  // --- beside the form ---

  list() {
    return h("section", { class: "panel" }, h("h2", {}, say("app.lobby")), this.place.tables);
  }

  drawTables() {
    const shown = JSON.stringify([this.tables, document.documentElement.lang]);
    if (this.tables === null || shown === this.drawnTables) return;
    this.drawnTables = shown;
    if (this.tables.length === 0) clear(this.place.tables, h("li", { class: "quiet" }, say("lobby.none")));
    else clear(this.place.tables, this.tables.map((table) => this.row(table)));
  }

  row({ id, game, seats, over, round, levels, scores }) {
    const mine = kept(`seat-${id}`) !== "";
    const open = seats.some((seat) => seat.kind === "open");
    const action = mine ? "lobby.continue" : open ? "lobby.join" : "lobby.look";
    const names = seats.map((seat) => (seat.kind === "open" ? say("lobby.open") : seat.name));
    const [a, b] = (levels ?? []).map(rankText);
    return h("li", { class: "table-row" },
      h("span", {},
        h("span", { class: "names" }, levels
          ? [h("b", { class: "team0" }, `${names[0]} · ${names[2]}`), " – ", h("b", { class: "team1" }, `${names[1]} · ${names[3]}`)]
          : h("b", {}, names.map((name, i) => `${name} ${pointsText(scores[i])}`).join(" · "))),
        h("span", { class: "quiet" }, `${gameTitle(game)} · `, over ? say("lobby.over") : levels ? say("lobby.round", { round, a, b }) : say("games.round", { n: round }))),
      h("a", { class: `button${mine ? " primary" : ""}`, href: `#/table/${id}`, "aria-label": `${say(action)}: ${names.join(", ")}` }, say(action)));
  }

  elsewhere() {
    const way = (name) => h("a", { class: "panel way", href: `#/${name}` }, h("h2", {}, say(`lobby.${name}`)), h("p", {}, say(`lobby.${name}.about`)));
    const { game } = this;
    const about = ({ label, about: word }) => worded(`agent.${label}`, worded(`games.agent.${word}`, word));
    return [
      game && h("section", { class: "panel" }, h("h2", {}, gameTitle(game.name)), h("p", {}, worded(`game.${game.name}.about`, game.summary))),
      h("div", { class: "ways" }, way("review"), way("explore")),
      game && h("details", { class: "panel agents" }, h("summary", {}, say("lobby.agents")),
        h("dl", {}, game.agents.map((agent) => [h("dt", {}, agent.label), h("dd", {}, about(agent))]))),
    ];
  }
}
