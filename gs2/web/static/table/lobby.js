// Where tables are made and found.

import { cardFace } from "gs2/cards.js";
import { clear, h } from "gs2/dom.js";
import { ask, keep, kept } from "gs2/store.js";
import { say } from "gs2/words.js";
import "gs2/games-words.js";
import "gs2/table-words.js";

/** Milliseconds between two looks at the list of tables. */
const LOOK_AGAIN = 5000;
const PERSON = "person";
/** Cards that greet. */
const SHOWN = ["ST", "SJ", "SQ", "H2", "SA"];
/** Seats as they lie around the small table. */
const PLACES = ["mine", "right", "top", "left"];

/** Return what an agent is, in the chosen language where it has words. */
function aboutWords(name, about) {
  const told = say(`agent.${name}`);
  return told === `agent.${name}` ? about : told;
}

/** The page on which tables are made and found. */
export class Lobby {
  /**
   * @param {HTMLElement} root
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, app) {
    Object.assign(this, { root, app, agents: [], tables: null, seats: [], busy: false, left: false, drawnTables: "" });
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
      this.agents = (await ask("/api/offers")).games[0].agents.map(({ label, about }) => ({ name: label, about }));
      if (this.left) return;
      const names = this.agents.map((agent) => agent.name);
      const best = ["gs2-fast", "blueprint"].find((name) => names.includes(name)) ?? names[0];
      this.best = best;
      this.other = ["blueprint", "greedy"].find((name) => names.includes(name) && name !== best) ?? best;
      const before = JSON.parse(kept("seats", "null"));
      const known = Array.isArray(before) && before.length === 4 && before.every((seat) => seat === PERSON || names.includes(seat));
      this.seats = known ? before : [PERSON, best, best, best];
    } catch (error) {
      this.fail(error);
    }
    if (this.left) return;
    this.redraw();
    await this.look();
  }

  async look() {
    try {
      const { tables } = await ask("/api/tables");
      if (this.left) return;
      this.tables = tables.filter((table) => table.game === "guandan");
      this.drawTables();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    if (this.left) return;
    this.place.error.textContent = say("app.failed", { text: error.message });
  }

  redraw() {
    this.drawnTables = "";
    const focused = Object.keys(this.fields ?? {}).find((name) => this.fields[name] === document.activeElement);
    this.place = {
      error: h("p", { class: "error", role: "alert" }),
      tables: h("ul", { class: "table-list" }),
      seats: h("div", { class: "seat-picker" }),
      start: h("button", { type: "submit", class: "primary large" }),
    };
    clear(this.root, h("div", { class: "page lobby" },
      h("header", { class: "hero" },
        h("div", {}, h("h1", {}, say("lobby.title")), h("p", {}, say("lobby.about"))),
        h("div", { class: "hero-cards", "aria-hidden": "true" }, SHOWN.map((name) => cardFace(name, { wild: name === "H2" })))),
      this.place.error,
      h("div", { class: "lobby-columns" }, this.form(), h("div", { class: "stack" }, this.list(), this.elsewhere()))));
    this.drawSeats();
    this.drawTables();
    if (focused) this.fields[focused].focus();
  }

  form() {
    const { name, games, pace, seed } = this.fields ?? {}; // in another language they hold what they held
    const f = (this.fields = {
      name: h("input", { type: "text", maxLength: 40, value: name?.value ?? kept("name"), autocomplete: "nickname" }),
      games: h("input", { type: "number", min: "1", max: "20", value: games?.value ?? "1" }),
      pace: h("input", { type: "number", min: "0", max: "10", step: "0.1", value: pace?.value ?? kept("pace", "0.7") }),
      seed: h("input", { type: "text", inputMode: "numeric", pattern: "[0-9]*", value: seed?.value ?? "" }),
    });
    return h("form", { class: "panel stack", on: { submit: (event) => { event.preventDefault(); this.create(); } } },
      h("h2", {}, say("lobby.new")),
      h("div", { class: "row presets", role: "group", "aria-label": say("lobby.presets") }, this.presets()),
      h("label", { class: "field" }, h("span", {}, say("lobby.name")), f.name),
      h("fieldset", { class: "seats" }, h("legend", {}, say("lobby.seats")), this.place.seats),
      (this.more = h("details", { open: this.more?.open ?? false }, h("summary", {}, say("lobby.more")),
        h("label", { class: "field" }, h("span", {}, say("lobby.matches")), f.games),
        h("label", { class: "field" }, h("span", {}, say("lobby.pace")), f.pace),
        h("label", { class: "field" }, h("span", {}, say("lobby.seed")), f.seed))),
      this.place.start);
  }

  presets() {
    const { best, other } = this;
    if (!best) return [];
    const preset = (key, seats) =>
      h("button", { type: "button", on: { click: () => { this.seats = seats; this.drawSeats(); this.create(); } } }, say(key, { agent: best, other }));
    return [
      preset("lobby.preset.play", [PERSON, best, best, best]),
      preset("lobby.preset.friend", [PERSON, best, PERSON, best]),
      preset("lobby.preset.watch", [best, other, best, other]),
    ];
  }

  drawStart() {
    const watched = this.seats.length === 4 && !this.seats.includes(PERSON);
    this.place.start.textContent = say(this.busy ? "lobby.busy" : watched ? "lobby.watch" : "lobby.start");
    this.place.start.disabled = this.busy || this.seats.length !== 4;
  }

  drawSeats() {
    this.drawStart();
    if (this.seats.length !== 4) return;
    clear(this.place.seats, h("div", { class: "mini-felt", "aria-hidden": "true" }), PLACES.map((place, seat) => this.picker(place, seat)));
  }

  picker(place, seat) {
    const option = (value, text) => h("option", { value, selected: this.seats[seat] === value }, text);
    const alone = seat === 0 ? say("lobby.me") : say("lobby.friend");
    // the first seat for a person is that of whoever makes the table
    const mayBePerson = seat === 0 || this.seats[0] === PERSON;
    const select = h("select", { on: { change: () => this.pick(seat, select.value) } },
      mayBePerson && option(PERSON, alone),
      this.agents.map(({ name }) => option(name, name)));
    return h("label", { class: `pick ${place} team${seat % 2}` }, h("span", {}, say(`lobby.seat.${seat}`)), select);
  }

  pick(seat, value) {
    this.seats[seat] = value;
    if (seat === 0 && value !== PERSON) this.seats = this.seats.map((one) => (one === PERSON ? this.best : one));
    this.drawSeats();
    this.place.seats.querySelectorAll("select")[seat]?.focus();
  }

  async create() {
    if (this.busy) return;
    const { name, games, pace, seed } = this.fields;
    keep("name", name.value.trim());
    keep("pace", pace.value);
    keep("seats", JSON.stringify(this.seats));
    this.busy = true;
    this.drawStart();
    try {
      const table = await ask("/api/tables", {
        json: {
          seats: this.seats,
          name: name.value.trim(),
          games: Number(games.value) || 1,
          pace: Number(pace.value),
          seed: seed.value.trim() === "" ? null : Number(seed.value),
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

  list() {
    return h("section", { class: "panel" }, h("h2", {}, say("lobby.tables")), this.place.tables);
  }

  drawTables() {
    const shown = JSON.stringify([this.tables, document.documentElement.lang]);
    if (this.tables === null || shown === this.drawnTables) return;
    this.drawnTables = shown;
    if (this.tables.length === 0) clear(this.place.tables, h("li", { class: "quiet" }, say("lobby.none")));
    else clear(this.place.tables, this.tables.map((table) => this.row(table)));
  }

  row(table) {
    const mine = kept(`seat-${table.id}`) !== "";
    const open = table.seats.some((seat) => seat.kind === "open");
    const text = (level) => (level === "T" ? "10" : level);
    const [a, b] = table.levels.map(text);
    const action = mine ? "lobby.continue" : open ? "lobby.join" : "lobby.look";
    const names = table.seats.map((seat) => (seat.kind === "open" ? say("lobby.open") : seat.name));
    return h("li", { class: "table-row" },
      h("span", {},
        h("span", { class: "names" }, h("b", { class: "team0" }, `${names[0]} · ${names[2]}`), " – ", h("b", { class: "team1" }, `${names[1]} · ${names[3]}`)),
        h("span", { class: "quiet" }, table.over ? say("lobby.over") : say("lobby.round", { round: table.round, a, b }))),
      h("a", { class: `button${mine ? " primary" : ""}`, href: `#/table/${table.id}`, "aria-label": `${say(action)}: ${names.join(", ")}` }, say(action)));
  }

  elsewhere() {
    const way = (name) => h("a", { class: "panel way", href: `#/${name}` }, h("h2", {}, say(`lobby.${name}`)), h("p", {}, say(`lobby.${name}.about`)));
    return [
      h("div", { class: "ways" }, way("games"), way("review"), way("explore")),
      this.agents.length > 0 && h("details", { class: "panel agents" }, h("summary", {}, say("lobby.agents")),
        h("dl", {}, this.agents.map(({ name, about }) => [h("dt", {}, name), h("dd", {}, aboutWords(name, about))]))),
    ];
  }
}
