// Where tables of other games are made and found.

import { clear, h } from "gs2/dom.js";
import { signed } from "gs2/felt.js";
import { ask, keep, kept } from "gs2/store.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";
import "gs2/games-words.js";

const PERSON = "person";

/** Return text of the page's own if it has any for a key, else `otherwise`. */
function worded(key, otherwise) {
  const text = say(key);
  return text === key ? otherwise : text;
}

/** Return the title of a game by its name, options after it: "DouDiZhu (landlord=bid)". */
export function gameTitle(name) {
  const [family, options] = name.split("(");
  const title = worded(`game.${family}`, family);
  if (!options) return title;
  const words = options.replace(")", "").split(",").map((word) => {
    const [option, value] = word.split("=");
    return worded(`choice.${family}.${option}.${value}`, `${worded(`option.${family}.${option}`, option)}: ${worded(`choice.${value}`, value)}`);
  });
  return `${title} (${words.join(", ")})`;
}

/** Whether an agent that was trained on one game can play another: that one, or it with calls for the landlord. */
export function canPlay(agent, game) {
  const fixed = game.replace("landlord=bid,", "").replace(",landlord=bid", "").replace("(landlord=bid)", "");
  return agent.exactly === null || agent.exactly === game || agent.exactly === fixed;
}

/** Return how a value is spelled in a game's name. */
function spelled(value) {
  return Array.isArray(value) ? value.join("/") : String(value);
}

/** The page on which tables of other games are made and found. */
export class GamesLobby {
  /**
   * @param {HTMLElement} root
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, app) {
    Object.assign(this, { root, app, games: [], tables: [], left: false, options: {}, players: [] });
    // what is set is kept here too: the browser may keep nothing
    Object.assign(this, { who: kept("name"), rotates: kept("game-rotate", "yes") === "yes" });
    this.redraw();
    this.load();
  }

  stop() {
    this.left = true;
  }

  async load() {
    try {
      const [{ games }, { tables }] = await Promise.all([ask("/api/offers"), ask("/api/tables")]);
      if (this.left) return;
      this.games = games.slice(1);
      this.tables = tables.filter((table) => table.game !== "guandan" && kept(`seat-${table.id}`) !== "");
      const before = kept("game", "doudizhu");
      this.pick(this.games.some((game) => game.name === before) ? before : this.games[0].name);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    if (!this.left) this.error.textContent = say("app.failed", { text: error.message });
  }

  /** The chosen game. */
  get game() {
    return this.games.find((game) => game.name === this.name);
  }

  /** The chosen game's name with its options, as the server spells it. */
  get fullName() {
    const words = this.game.options.filter(({ name, default: usual }) => spelled(this.options[name]) !== spelled(usual)).map(({ name }) => `${name}=${spelled(this.options[name])}`);
    return words.length ? `${this.name}(${words.join(",")})` : this.name;
  }

  /** Agents that play the chosen game with its options. */
  get agents() {
    return this.game.agents.filter((agent) => canPlay(agent, this.fullName));
  }

  /** Choose a game. */
  pick(name) {
    this.name = name;
    keep("game", name);
    let before = {};
    try {
      before = JSON.parse(kept(`game-options-${name}`, "{}"));
    } catch {
      // kept by another version
    }
    this.options = Object.fromEntries(this.game.options.map((option) => [option.name, before[option.name] ?? option.default]));
    this.players = [];
    this.fill();
    this.redraw();
  }

  /** Give every seat somebody who can sit there. */
  fill() {
    const seats = this.game.options.some(({ name }) => name === "players") ? this.options.players : this.game.seats;
    const labels = this.agents.map((agent) => agent.label);
    const players = Array.from({ length: seats }, (_, i) => {
      const one = this.players[i];
      return one === PERSON || labels.includes(one) ? one : labels[0];
    });
    if (!players.includes(PERSON)) players[0] = PERSON;
    this.players = players;
  }

  redraw() {
    this.error = h("p", { class: "error", role: "alert" });
    clear(this.root, h("div", { class: "page lobby games-lobby" },
      h("h1", {}, say("games.title")),
      h("p", { class: "quiet" }, say("games.about")),
      this.error,
      this.games.length > 0 && h("div", { class: "lobby-columns" }, this.form(), h("div", { class: "stack" }, this.list(), this.about()))));
  }

  form() {
    this.start = h("button", { type: "submit", class: "primary large" }, say("lobby.start"));
    const name = h("input", { type: "text", maxLength: 40, value: this.who, autocomplete: "nickname", on: { input: () => { this.who = name.value; keep("name", this.who.trim()); } } });
    const rotate = h("input", { type: "checkbox", checked: this.rotates, on: { change: () => { this.rotates = rotate.checked; keep("game-rotate", this.rotates ? "yes" : "no"); } } });
    const game = h("select", { class: "game-select", on: { change: () => { this.pick(game.value); this.root.querySelector(".game-select").focus(); } } },
      this.games.map((one) => h("option", { value: one.name, selected: one.name === this.name }, gameTitle(one.name))));
    const [front, rest] = this.fields();
    return h("form", { class: "panel stack", on: { submit: (event) => { event.preventDefault(); this.create(); } } },
      h("h2", {}, say("lobby.new")),
      h("label", { class: "field" }, h("span", {}, say("games.game")), game),
      front,
      h("fieldset", { class: "seats" }, h("legend", {}, say("lobby.seats")), h("div", { class: "game-seats" }, this.players.map((_, seat) => this.picker(seat)))),
      h("label", { class: "field" }, h("span", {}, say("lobby.name")), name),
      h("label", { class: "check" }, rotate, " ", say("games.rotate")),
      rest.length > 0 && h("details", {}, h("summary", {}, say("games.options")), rest),
      this.start);
  }

  /** The fields of the options: those that matter most, and the rest. */
  fields() {
    const first = ["landlord", "players"];
    const field = (option) => this.field(option);
    const { options } = this.game;
    return [options.filter(({ name }) => first.includes(name)).map(field), options.filter(({ name }) => !first.includes(name)).map(field)];
  }

  field(option) {
    const { name, kind } = option;
    const label = worded(`option.${this.name}.${name}`, name.replaceAll("_", " "));
    const doc = worded(`option.${this.name}.${name}.doc`, option.doc);
    const value = this.options[name];
    let input;
    const set = (read) => { this.options[name] = read; keep(`game-options-${this.name}`, JSON.stringify(this.options)); this.fill(); this.redrawKeeping(name); };
    if (kind === "bool") input = h("input", { type: "checkbox", checked: value, on: { change: () => set(input.checked) } });
    else if (kind === "choice") {
      input = h("select", { on: { change: () => set(input.value) } },
        option.choices.map((choice) => h("option", { value: choice, selected: choice === value }, worded(`choice.${this.name}.${name}.${choice}`, choice))));
    } else if (kind === "int") {
      input = h("input", { type: "number", min: String(option.low), max: String(option.high), step: "1", value: String(value), on: { change: () => set(Math.round(Math.min(option.high, Math.max(option.low, Number(input.value) || option.default)))) } });
    } else {
      input = h("input", { type: "text", value: value.join("/"), on: { change: () => set(input.value.split("/").map(Number).filter(Number.isInteger)) } });
    }
    input.dataset.option = name;
    const texts = h("span", {}, label, doc && doc !== label && h("span", { class: "option-doc" }, ` – ${doc}`));
    return kind === "bool" ? h("label", { class: "check" }, input, " ", texts) : h("label", { class: "field" }, texts, input);
  }

  redrawKeeping(name) {
    const open = this.root.querySelector("details")?.open;
    this.redraw();
    const details = this.root.querySelector("details");
    if (details && open) details.open = true;
    this.root.querySelector(`[data-option="${name}"]`)?.focus();
  }

  picker(seat) {
    const fixed = this.name === "doudizhu" && this.options.landlord === "first";
    const label = fixed ? say(`games.seat.${seat}`) : say("games.seat", { n: seat + 1 });
    const option = (value, text) => h("option", { value, selected: this.players[seat] === value }, text);
    const select = h("select", { "data-seat": seat, on: { change: () => this.seat(seat, select.value) } },
      option(PERSON, say("lobby.me")),
      this.agents.map((agent) => option(agent.label, agent.about ? `${agent.label} – ${say(`games.agent.${agent.about}`)}` : agent.label)));
    return h("label", { class: "field" }, h("span", {}, label), select);
  }

  /** Seat somebody; there is one person, who changes places. */
  seat(seat, value) {
    const mine = this.players.indexOf(PERSON);
    if (value === PERSON) this.players[mine] = this.players[seat];
    else if (seat === mine) {
      const other = (seat + 1) % this.players.length;
      this.players[other] = PERSON;
    }
    this.players[seat] = value;
    this.fill();
    this.redrawKeeping("");
    this.root.querySelector(`[data-seat="${seat}"]`)?.focus();
  }

  async create() {
    this.start.disabled = true;
    this.start.textContent = say("games.loading");
    this.error.textContent = "";
    try {
      const table = await ask("/api/tables", { json: { game: this.name, options: this.options, seats: this.players, name: this.who.trim(), rotate: this.rotates } });
      keep(`seat-${table.id}`, table.key);
      if (!this.left) this.app.go(`#/games/${table.id}`);
    } catch (error) {
      this.start.disabled = false;
      this.start.textContent = say("lobby.start");
      this.fail(error);
    }
  }

  list() {
    return h("section", { class: "panel" }, h("h2", {}, say("games.tables")),
      h("ul", { class: "table-list" }, this.tables.length === 0
        ? h("li", { class: "quiet" }, say("games.none"))
        : this.tables.map((table) => h("li", { class: "table-row" },
            h("span", {}, h("b", {}, gameTitle(table.game)),
              h("span", { class: "quiet" }, say("games.round", { n: table.round }), " · ", table.seats.map(({ name }, i) => `${name} ${signed(table.scores[i])}`).join(" · "))),
            h("a", { class: "button primary", href: `#/games/${table.id}`, "aria-label": `${say("lobby.continue")}: ${gameTitle(table.game)}` }, say("lobby.continue"))))));
  }

  about() {
    return h("section", { class: "panel" }, h("h2", {}, gameTitle(this.name)), h("p", {}, worded(`game.${this.name}.about`, this.game.summary)));
  }
}
