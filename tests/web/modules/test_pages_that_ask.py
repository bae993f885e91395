"""Pages that ask the server for something, and people who change their minds, leave, or lose the line."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.web.modules.least_browser import in_page, needs_node

pytestmark = needs_node

EXPLORE = """
import { asked, newRoot, pass, report, server, until } from "browser";
const { ExplorePage } = await import("gs2/studies.js");
const { setLanguage } = await import("gs2/words.js");
const lists = {
  leduc_poker: ["P1 holds Ks | raise"], kuhn_poker: ["P0 holds J", "P0 holds Q"],
  "kuhn_poker(cards=5)": ["P0 holds T", "P0 holds Q"], "leduc_poker(raise_sizes=1/2)": ["P0 holds Js"],
};
let slow = 0;
server.answer = async (path, method) => {
  if (path === "/api/games") return { games: [] };
  const list = /^\\/api\\/games\\/([^/]+)\\/infosets/.exec(path);
  if (list) {
    if (slow) await new Promise((resolve) => setTimeout(resolve, slow));
    const names = lists[decodeURIComponent(list[1])];
    if (!names) throw { status: 400, error: "no game is called so", code: "wrong" };
    return { infosets: names.map((infoset) => ({ infoset })) };
  }
  if (path === "/api/solve") return { id: "j1" };
  if (method === "DELETE") return {};
  throw { status: 400, error: "it cannot be searched", code: "wrong" };
};
const searches = () => asked.filter(([, path]) => path === "/api/solve");
const solved = () => searches().map(([, , request]) => `${request.game}: ${request.infoset}`);
const request = { game: "kuhn_poker", infoset: "P0 holds Q", method: "unsafe" };
/** Return a new page after its first search. */
const begun = async () => {
  slow = 0;
  const root = newRoot();
  const page = new ExplorePage(root, JSON.stringify(request));
  await until(() => root.querySelector("form") !== null);
  await pass(2000);
  asked.length = 0;
  const field = (name) => root.querySelector(`.x-field-${name}`).querySelector("input,select");
  return { root, page, field };
};
const told = [];
"""


def test_another_game_is_searched_once_and_what_is_no_game_is_told_so() -> None:
    games = {
        "kuhn_poker(cards=5)": "P0 holds Q",
        "leduc_poker(raise_sizes=1/2)": "P0 holds Js",
        "kuhn_pokr": "P0 holds Q",
        "kuhn_poker": None,
    }
    found = in_page(
        EXPLORE
        + """
        for (const game of data) {
          const { root, page, field } = await begun();
          field("game").enter(game);
          await pass(2000);
          const problem = root.querySelector(".x-problem").textContent;
          told.push([solved(), problem !== "", field("infoset").value]);
          page.stop();
        }
        report(told);
        """,
        list(games),
    )
    for (game, infoset), (solved, problem, shown) in zip(games.items(), found, strict=True):
        assert solved == ([] if infoset is None else [f"{game}: {infoset}"])
        assert problem, "the search says what is wrong"
        assert shown == (infoset or "P0 holds Q")


def test_a_page_that_was_left_searches_no_more_and_leaves_the_address_alone() -> None:
    found = in_page(
        EXPLORE
        + """
        for (const [name, value] of [["game", "leduc_poker"], ["seed", "7"], ["infoset", "P0"]]) {
          for (const wait of [0, 100, 260]) {
            const { page, field } = await begun();
            slow = 300;
            field(name).enter(value);
            await pass(wait);
            const before = solved().length;
            page.stop();
            location.hash = "#/table/abc";
            await pass(3000);
            told.push([location.hash, solved().length - before]);
          }
        }
        report(told);
        """
    )
    assert found == [["#/table/abc", 0]] * 9


def test_a_change_that_was_not_yet_searched_is_searched_after_a_change_of_language() -> None:
    found = in_page(
        EXPLORE
        + """
        for (const change of [["seed", "7"], ["game", "leduc_poker"], null]) {
          const { page, field } = await begun();
          slow = 300;
          if (change) field(change[0]).enter(change[1]);
          await pass(100);
          setLanguage("zh");
          await pass(3000);
          told.push(solved());
          page.stop();
          setLanguage("en");
        }
        report(told);
        """
    )
    assert found == [["kuhn_poker: P0 holds Q"], ["leduc_poker: P1 holds Ks | raise"], []]


REVIEW = """
import { asked, newRoot, pass, report, server } from "browser";
const { ReviewPage } = await import("gs2/studies.js");
const { setLanguage } = await import("gs2/words.js");
const gone = [];
const root = newRoot();
"""


def test_a_review_that_failed_says_so_in_every_language_and_asks_for_a_record() -> None:
    found = in_page(
        REVIEW
        + """
        const missing = { status: 404, error: "there is no such job", code: "missing" };
        const all = [];
        for (const failure of [missing, new Error("no line")]) {
          server.answer = () => { throw failure; };
          const page = new ReviewPage(root, "gone", { go: (hash) => gone.push(hash) });
          await pass(20000);
          const texts = [root.textContent];
          for (const language of ["zh", "en"]) {
            setLanguage(language);
            page.redraw();
            await pass(5000);
            texts.push(root.textContent);
          }
          all.push([...texts, root.querySelector("progress") === null]);
        }
        report(all);
        """
    )
    for first, chinese, again, at_rest in found:
        assert first == again and at_rest
        assert "Record file" in first and "could not be reviewed" in first and "牌谱" in chinese


def test_a_review_goes_on_while_the_network_is_away_for_a_moment() -> None:
    found = in_page(
        REVIEW
        + """
        let polls = 0;
        server.answer = () => {
          polls += 1;
          if ([2, 3, 5, 6].includes(polls)) throw new Error("no line");
          return { status: "running", done: polls, of: 9 };
        };
        new ReviewPage(root, "j1", { go() {} });
        await pass(20000);
        report([polls, root.querySelector("progress")?.value ?? null]);
        """
    )
    assert found[0] > 10 and found[1] == found[0]


def test_who_left_the_page_is_not_called_back_to_a_review() -> None:
    found = in_page(
        REVIEW
        + """
        server.answer = () => new Promise((resolve) => setTimeout(() => resolve({ id: "j1" }), 500));
        const page = new ReviewPage(root, null, { go: (hash) => gone.push(hash) });
        const file = { size: 1, name: "x", text: async () => "1" };
        page.send(file);
        await pass(100);
        page.stop();
        await pass(1000);
        report(gone);
        """
    )
    assert found == []


LOBBY = """
import { asked, newRoot, pass, report, server } from "browser";
const { Lobby } = await import("gs2/lobby.js");
const { setLanguage } = await import("gs2/words.js");
const agents = ["cfr", "random"].map((label) => ({ label, about: label, exactly: null }));
const options = [
  { name: "cards", doc: "d", default: 3, kind: "int", low: 2, high: 13 },
  { name: "wild", doc: "d", default: true, kind: "bool" },
  { name: "order", doc: "d", default: "a", kind: "choice", choices: ["a", "b"] },
  { name: "sizes", doc: "d", default: [2, 4], kind: "ints", low: 1, high: 9, length: 2 },
];
const same = { summary: "s", seats: 2, options, agents };
const match = { ...same, name: "guandan", seats: 4, options: [] };
const others = ["kuhn_poker", "leduc_poker"].map((name) => ({ name, ...same }));
const games = data.match ? [match] : others;
server.answer = (path, method) => {
  if (method === "POST") return { id: "t", key: "k" };
  return path.endsWith("offers") ? { games } : { tables: [] };
};
if (!data.storage) localStorage.setItem = localStorage.getItem = () => { throw new Error("forbidden"); };
const root = newRoot();
const lobby = new Lobby(root, { go() {} });
await pass(10);
const boxes = () => root.querySelectorAll("input[type=checkbox]");
const option = (name) => root.querySelector(`[data-option="${name}"]`);
const set = {
  game: (value) => root.querySelector(".game-select").enter(value),
  name: (value) => root.querySelector("input[autocomplete=nickname]").enter(value),
  rotate: (value) => boxes().find((one) => one.dataset.option === undefined).enter(value),
  seat: (value) => root.querySelector('[data-seat="1"]').enter(value),
  language: (value) => { setLanguage(value); lobby.redraw(); },
};
for (const [name, value] of data.acts) {
  if (set[name]) set[name](value);
  else (option(name) ?? lobby.fields[name]).enter(value);
}
root.querySelector("form").happen("submit");
await pass(10);
lobby.stop();
report(asked.filter(([method]) => method === "POST")[0][2]);
"""


@pytest.mark.parametrize("seed", range(2))
def test_a_table_is_made_as_its_fields_were_set_in_whatever_order(seed: int) -> None:
    rng = random.Random(seed)
    fields: list[tuple[str, Any]] = [
        ("name", f"Ann {seed}"),
        ("rotate", rng.random() < 0.3),
        ("cards", str(rng.randint(2, 13))),
        ("wild", rng.random() < 0.3),
        ("order", rng.choice("ab")),
        ("sizes", "1/3"),
        ("seat", "random"),
    ]
    rng.shuffle(fields)
    for language in ("zh", "en"):
        fields.insert(rng.randrange(len(fields) + 1), ("language", language))
    # another game has options and seats of its own; who one is and whether people move on stay
    at = min(place for place, (name, _) in enumerate(fields) if name not in ("name", "rotate", "language"))
    fields.insert(rng.randrange(at + 1), ("game", "leduc_poker"))
    made = in_page(LOBBY, {"acts": fields, "storage": seed % 2 == 0})
    wanted = dict(fields)
    assert made["game"] == "leduc_poker" and made["name"] == wanted["name"]
    assert made["rotate"] is wanted["rotate"]
    assert made["seats"] == ["person", "random"]
    assert made["options"] == {
        "cards": int(wanted["cards"]),
        "wild": wanted["wild"],
        "order": wanted["order"],
        "sizes": [1, 3],
    }


def test_the_lobby_keeps_what_was_typed_in_another_language() -> None:
    wanted = {"name": "Ann", "games": 3, "pace": 1.5, "seed": str(2**53 + 1)}
    acts = [*((name, str(value)) for name, value in wanted.items()), ("language", "zh")]
    made = in_page(LOBBY, {"acts": acts, "storage": True, "match": True})
    assert {name: made[name] for name in wanted} == wanted


def test_agents_move_at_the_usual_pace_where_none_is_entered() -> None:
    made = [in_page(LOBBY, {"acts": [["pace", text]], "storage": True}) for text in ("", "0")]
    assert [one["pace"] for one in made] == [0.7, 0]


def test_numbers_of_a_report_are_the_numbers() -> None:
    rng = random.Random(5)
    values = [10 ** rng.uniform(-3, 6) * rng.choice((1, -1)) for _ in range(2000)]
    values += [0, 1000, 1230, 2400.4, 10, 100, 1e5, 1e10, 0.001, 0.1, 20.0, 99999.6, 2.5e-4]
    script = """
    import { report } from "browser";
    const { number } = await import("gs2/rows.js");
    report(data.map(number));
    """
    for value, told in zip(values, in_page(script, values), strict=True):
        assert math.isclose(float(told), value, rel_tol=1e-3), (value, told)
        assert len(told) < 12, told


def test_a_preset_deals_at_one_press() -> None:
    found = in_page(
        """
        import { asked, newRoot, pass, report, server } from "browser";
        const { Lobby } = await import("gs2/lobby.js");
        const agents = ["gs2-fast", "blueprint"].map((label) => ({ label, about: "", exactly: null }));
        const game = { name: "guandan", summary: "", options: [], seats: 4, agents, teams: [0, 1, 0, 1] };
        const made = { id: "t1", key: "k" };
        server.answer = (path, method) => (method === "POST" ? made : { games: [game], tables: [] });
        const all = [];
        for (const place of [0, 1, 2]) {
          asked.length = 0;
          const went = [];
          const root = newRoot();
          const lobby = new Lobby(root, { go: (hash) => went.push(hash) });
          await pass(10);
          const button = root.querySelector(".presets").querySelectorAll("button")[place];
          button.click();
          button.click(); // twice in a hurry is one table
          await pass(10);
          lobby.stop();
          const posts = asked.filter(([method]) => method === "POST");
          all.push([went, posts.map(([, path, body]) => [path, body.seats])]);
        }
        report(all);
        """
    )
    best, other = "gs2-fast", "blueprint"
    seats = [["person", best, best, best], ["person", best, "person", best], [best, other, best, other]]
    assert found == [[["#/table/t1"], [["/api/tables", one]]] for one in seats]
