// The frame of a table's page: the connection, parts drawn anew where they changed, complaints, one dialog.

import { Channel } from "gs2/channel.js";
import { clear, h } from "gs2/dom.js";
import { counterView } from "gs2/counter.js";
import { dialog } from "gs2/side.js";
import { setSounds, sound, soundsOn } from "gs2/sounds.js";
import { keep, kept } from "gs2/store.js";
import { LIMITS, TurnClock } from "gs2/turn-clock.js";
import { say } from "gs2/words.js";

/** Milliseconds that a complaint stays. */
const COMPLAINT = 6000;

/**
 * What `Table` extends: it builds `parts`, hears (`hear`), shows (`show`, `drawHint`), takes keys (`key`), and has
 * `own`, the person's own part, which can take the turn (`takeOver`).
 * `state` is what the server said last, null before.
 */
export class TablePage {
  /**
   * @param {HTMLElement} root
   * @param {string} id
   */
  constructor(root, id) {
    if (kept(`seat-${id}`) === "" && kept(`game-${id}`) !== "") keep(`seat-${id}`, kept(`game-${id}`)); // of an earlier version
    Object.assign(this, { root, id, seatKey: `seat-${id}`, state: null, status: "connecting", hint: null, box: null, playsShown: 0, missing: false });
    this.clock = new TurnClock({ act: () => this.own.takeOver(), tick: (left) => this.tick(left) });
    this.place = `tables/${encodeURIComponent(id)}`;
    this.address = `/api/${this.place}`;
  }

  /** Build the page, connect, and listen to the keyboard. */
  open() {
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
    this.build();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const query = () => (kept(this.seatKey) ? `?key=${encodeURIComponent(kept(this.seatKey))}` : "");
    this.channel = new Channel(() => `${scheme}//${location.host}/ws/${this.place}${query()}`, {
      message: (data) => this.hear(data),
      status: (status) => this.reconnected(status),
    });
  }

  /** Leave the table. */
  stop() {
    this.clock.stop();
    this.channel.close();
    document.removeEventListener("keydown", this.keys);
    this.box?.close();
  }

  /** Draw everything anew, in the language now chosen. */
  redraw() {
    if (this.missing) {
      this.drawGone();
      return;
    }
    this.build();
    this.connection(this.status);
    if (this.state) this.show();
    this.tick(this.clock.left);
  }

  /** Return the parts that every table's page has. */
  common() {
    return {
      banner: h("p", { class: "banner", role: "status", hidden: true }),
      felt: h("div", { class: "felt-place" }),
      said: h("p", { class: "visually-hidden", "aria-live": "polite" }),
      error: h("p", { class: "toast", role: "alert" }),
      log: h("div", { class: "log-place", role: "region", tabIndex: 0, "aria-label": say("table.log") }),
      hint: h("div", { class: "hint-place" }),
      counter: h("div", { class: "counter-place" }),
      clock: h("div", { class: "clock", role: "timer" }),
      side: h("aside", { class: "side", id: "table-side", "aria-label": say("table.side") }),
    };
  }

  /** Return a button. name: of its words. */
  button(name, act, more = {}) {
    return h("button", { type: "button", ...more, on: { click: act } }, say(name));
  }

  /** Return the button that shows what is beside the table, where there is no room for it all the time. */
  sideButton(name) {
    const act = () => this.openSide(!this.parts.side.classList.contains("open"));
    return this.button(name, act, { class: "side-open", "aria-controls": "table-side" });
  }

  /** Draw a part anew if what it shows has changed. */
  part(name, shown, draw) {
    const text = JSON.stringify([shown, document.documentElement.lang]);
    if (this.drawn[name] === text) return;
    this.drawn[name] = text;
    clear(this.parts[name], draw());
  }

  /**
   * Show which cards have gone.
   * @param {Object<string, number> | null} deck cards of each rank; null where there are none to count
   * @param {string[]} seen
   */
  count(deck, seen) {
    this.part("counter", [deck, seen], () => deck && [h("h2", {}, say("table.counter")), counterView(deck, seen)]);
  }

  /** Show the seconds that are left of the person's turn, or that it is played for the person. */
  tick(left) {
    const { clock: place } = this.parts ?? {};
    if (!place) return;
    place.classList.toggle("short", left > 0 && left <= 5);
    if (left > 0 && left <= 3) sound("late");
    if (this.clock.auto) clear(place, this.button("table.auto.stop", () => this.clock.set({ auto: false }), { class: "auto-stop" }));
    else place.textContent = left > 0 ? say("table.clock", { s: left }) : "";
  }

  /**
   * Have the news heard.
   * @param {{passed: boolean, bomb: boolean} | null} play the last that is new
   * @param {boolean} turn whether it has become the person's
   * @param {boolean | null} won a round that has just ended
   */
  ring(play, turn, won) {
    const names = play ? [play.passed ? "pass" : play.bomb ? "bomb" : "card"] : [];
    if (won !== null) names.push(won ? "won" : "lost");
    else if (turn) names.push("turn");
    sound(...names);
  }

  /** Let the person set the pace, a clock for the own turn, automatic play and sounds. pace: what sets it. */
  optionsBox(pace) {
    const { clock } = this;
    const limit = h("select", { on: { change: () => clock.set({ limit: Number(limit.value) }) } },
      LIMITS.map((s) => h("option", { value: String(s), selected: s === clock.limit }, say(s ? "table.limit.value" : "table.limit.none", { s }))));
    const check = (name, checked, set) => {
      const box = h("input", { type: "checkbox", checked, on: { change: () => set(box.checked) } });
      return h("label", { class: "check" }, box, " ", say(name));
    };
    this.showBox(dialog(say("table.options"), (close) => h("div", { class: "stack options" },
      h("div", {}, say("table.pace"), pace),
      h("label", { class: "field" }, h("span", {}, say("table.limit")), limit),
      check("table.auto", clock.auto, (auto) => clock.set({ auto })),
      check("table.sounds", soundsOn(), setSounds),
      h("p", { class: "quiet" }, say("table.auto.about")),
      h("div", {}, h("button", { type: "button", class: "primary", on: { click: close } }, say("table.close"))))));
  }

  /** Hear of the connection. A hint belongs to one: the server gives it up with it, and may have begun anew since. */
  reconnected(status) {
    if (this.hint !== null) {
      this.hint = null;
      this.drawHint();
    }
    this.connection(status);
    if (status === "open") this.clock.start(); // what was done for the person may have been lost
  }

  /** Take what the server says of a hint; return whether it is the one that was asked for at last. */
  takeHint(data) {
    const mine = data.status === "thinking" || (data.since === this.hint?.since && data.agent === this.hint?.agent);
    if (mine) this.hint = data;
    return mine;
  }

  connection(status) {
    this.status = status;
    const { banner } = this.parts;
    const waits = status === "lost" || (status !== "open" && this.state === null);
    banner.hidden = !waits;
    banner.textContent = waits ? say(status === "lost" ? "table.lost" : "table.connecting") : "";
    this.root.classList.toggle("cut", status === "lost");
    if (status === "lost" && this.state === null) this.look();
  }

  /** Say so if the server does not know the table. */
  async look() {
    const response = await fetch(`${this.address}/record`, { method: "HEAD" }).catch(() => null);
    if (response?.status !== 404 || this.channel.closed) return;
    this.channel.close();
    keep(this.seatKey, null);
    this.missing = true;
    this.drawGone();
  }

  drawGone() {
    clear(this.root, h("div", { class: "page" }, h("h1", {}, say("table.gone")), h("p", {}, h("a", { href: "#/" }, say("table.gone.back")))));
  }

  /** Return the seat whose move the felt has not shown yet. */
  fresh(plays) {
    const grown = plays.length === this.playsShown + 1;
    this.playsShown = plays.length;
    return grown ? plays.at(-1).seat : null;
  }

  complain(text) {
    this.parts.error.textContent = text;
    clearTimeout(this.fading);
    this.fading = setTimeout(() => { this.parts.error.textContent = ""; }, COMPLAINT);
  }

  /** Send a message; without a connection say so, and return false. */
  send(message, { quietly = false } = {}) {
    const sent = this.channel.send(message);
    if (!sent && !quietly) this.complain(say("error.offline"));
    return sent;
  }

  /** Take a dialog that was just opened as the one there is. */
  showBox(box) {
    if (this.box !== box) this.box?.close();
    this.box = box;
    return box;
  }

  /** Show what is beside the table, where there is no room for it all the time. */
  openSide(open) {
    this.parts.side.classList.toggle("open", open);
  }

  /**
   * Return whether a key is meant for the page, not for a field, a dialog or the browser. One that is held counts
   * once, but for arrows, and presses no button that has come under the keyboard meanwhile.
   */
  takes(event) {
    if (event.repeat && !event.key.startsWith("Arrow")) {
      if (event.key === "Enter") event.preventDefault();
      return false;
    }
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return false;
    return !event.target.matches?.("input, select, textarea") && this.state !== null;
  }
}
