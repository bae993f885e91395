// The page's frame: which view the address names, language and theme.

import { clear, h, languageButton } from "gs2/dom.js";
import { Lobby } from "gs2/lobby.js";
import { ExplorePage, ReviewPage } from "gs2/studies.js";
import { keep, kept } from "gs2/store.js";
import { Table } from "gs2/table.js";
import { say } from "gs2/words.js";
import "gs2/table-words.js";
import "gs2/games-words.js";

const THEMES = ["auto", "light", "dark"];
const app = {
  go(hash) {
    if (location.hash === hash) route();
    else location.hash = hash;
  },
};

/** @type {{stop: () => void, redraw: () => void} | null} */
let view = null;
const root = document.getElementById("root");
const bar = h("header", { class: "app-bar" });
document.body.prepend(bar);

function theme() {
  const chosen = kept("theme", "auto");
  return THEMES.includes(chosen) ? chosen : "auto";
}

function setTheme(name) {
  keep("theme", name);
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

function drawBar() {
  const here = location.hash.split("/")[1] || "table";
  const link = (hash, key, name) => h("a", { href: hash, "aria-current": here === name ? "page" : null }, say(key));
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  const mark = { auto: "◐", light: "☀", dark: "☾" }[theme()];
  clear(bar,
    h("a", { class: "skip", href: "#root", on: { click: (event) => { event.preventDefault(); root.focus(); } } }, say("app.skip")),
    h("a", { class: "brand", href: "#/" }, "gs2"),
    h("nav", { "aria-label": say("app.menu") }, link("#/", "app.lobby", "table"), link("#/review", "app.review", "review"), link("#/explore", "app.explore", "explore")),
    h("button", { type: "button", class: "plain theme", "aria-label": say(`app.theme.${theme()}`), title: say(`app.theme.${theme()}`), on: { click: () => { setTheme(next); drawBar(); bar.querySelector(".theme").focus(); } } }, mark),
    languageButton({ class: "plain language", "aria-label": say("app.language.label") }, () => bar.querySelector(".language").focus()));
}

/** Return a part of the address as text; one that is damaged names nothing. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function route() {
  const [, name, ...rest] = location.hash.split("/");
  const id = decoded(rest.join("/"));
  view?.stop();
  clear(root);
  root.className = `view-${name || "lobby"}`;
  document.title = "gs2";
  drawBar();
  if ((name === "table" || name === "games") && id) view = new Table(root, id, app); // games: of earlier versions
  else if (name === "review") view = new ReviewPage(root, id || null, app);
  else if (name === "explore") view = new ExplorePage(root, id ?? "");
  else view = new Lobby(root, app);
}

setTheme(theme());
root.tabIndex = -1;
window.addEventListener("hashchange", route);
window.addEventListener("gs2-language", () => {
  drawBar();
  view?.redraw();
});
route();
