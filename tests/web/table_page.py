"""A table's page as a person uses it: by clicks and keys, and by what it says."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gs2.web.games.offers import offered_agents
from tests.web.modules.page_words import page_words

SCREENSHOTS = "GS2_SCREENSHOTS"
"""Names a folder where pictures of the pages are put."""
READY = ".own.turn, .felt.over, dialog[open]"


TEXTS = """() => {
  const found = [];
  const walk = (element) => {
    if (element.lang || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) return;
    found.push(...["aria-label", "title", "placeholder"].map((name) => element.getAttribute(name) ?? ""));
    for (const one of element.childNodes) {
      if (one.nodeType === Node.TEXT_NODE) found.push(one.textContent.trim());
      else if (one.nodeType === Node.ELEMENT_NODE) walk(one);
    }
  };
  walk(document.body);
  return [...found, document.title];
}"""
FREE = """() => [...document.querySelectorAll(".hand-card")].flatMap((card) => {
  const box = card.getBoundingClientRect();
  const mine = (x, y) => document.elementFromPoint(x, y)?.closest(".hand-card") === card;
  // the free part is a rectangle that begins at the upper left corner, which no other card covers
  let [wide, high] = [0, 0];
  while (wide < box.width && mine(box.left + wide + 0.5, box.top + 1)) wide += 1;
  while (high < box.height && mine(box.left + 1, box.top + high + 0.5)) high += 1;
  const corner = mine(box.left + wide - 1, box.top + high - 1);
  return wide >= 40 && high >= 40 && corner ? [] : [[card.dataset.key, wide, high, corner]];
})"""
MARKS = """() => [...document.querySelectorAll(".hand-card, .fan .card")].flatMap((card) => {
  const marks = [...card.querySelectorAll(".card-rank, .card-suit, .card-star, .card-spark")];
  return marks.filter((mark) => {
    const { left, right, top, bottom } = mark.getBoundingClientRect();
    const points = [0.3, 0.5, 0.7].map((part) => [left + part * (right - left), top + 0.5 * (bottom - top)]);
    return points.some(([x, y]) => {
      const there = document.elementFromPoint(x, y);
      return there !== card && !card.contains(there);
    });
  }).map((mark) => [card.dataset.key ?? card.dataset.card, mark.getAttribute("class")]);
})"""


def left_behind(page: Any) -> list[str]:
    """Return texts of a page that are not in the chosen language, without elements that name their own."""
    texts = page.evaluate(TEXTS)
    said = page_words()
    if page.evaluate("document.documentElement.lang") == "en":
        return [text for text in texts if re.search("[\u3000-\u9fff\uff00-\uffef]", text)]
    other = {key: text for key, text in said["en"].items() if text != said["zh"].get(key) and len(text) > 3}
    english = set(other.values()) - {agent.label for agent in offered_agents()}
    return [text for text in texts if text in english]


def check_hand(page: Any) -> None:
    """Assert that no card covers another's rank, suit or mark, and a phone's have 40 × 40 pixels to touch."""
    assert page.evaluate(MARKS) == []
    if page.viewport_size["width"] < 600:
        assert page.evaluate(FREE) == []


POLLING = 50
"""Milliseconds between two looks at a page; to look at each frame, a browser draws 60 of them a second."""


def check_screen(page: Any) -> None:
    """Assert that a page fits its screen, with nothing to scroll, and is in one language."""
    over = "({scrollWidth: w, scrollHeight: h}) => [w - innerWidth, h - innerHeight]"
    wide, high = page.evaluate(f"({over})(document.documentElement)")
    assert wide <= 0 and high <= 0, (wide, high)
    assert left_behind(page) == []


def picture(page: Any, name: str) -> None:
    """Keep a picture of a page, where pictures are wanted."""
    folder = os.environ.get(SCREENSHOTS)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        width = page.viewport_size["width"]
        page.screenshot(path=Path(folder) / f"{name}-{width}.png")


def check_places_and_levels(said: str) -> None:
    """Assert that places and levels fit together in what a player is told at a round's end.

    Whose partner comes second goes up three levels, or as many as lead to A; who wins the match, none.
    """
    assert "1st" in said and ("4th" in said) != (said.count("not out") == 2), said
    if "The match is over" in said:
        return
    winners = "Us" if "You win" in said else "Them"
    if "not out" in said:
        assert "three levels" in said or re.search(rf"\b{winners} A\b", said), said
    else:
        assert "three levels" not in said, said


class TablePage:
    """Drives the page of a table."""

    def __init__(self, page: Any) -> None:
        self.page = page

    @classmethod
    def sit(cls, page: Any, table: str, key: str | None) -> TablePage:
        """Return the page of a table, after its browser was given the seat's key."""
        if key is not None:
            page.evaluate("([name, key]) => localStorage.setItem(name, key)", [f"gs2-seat-{table}", key])
        page.evaluate("hash => { location.hash = hash; }", f"#/table/{table}")
        page.locator(".felt").wait_for()
        return cls(page)

    @property
    def hand(self) -> list[str]:
        """Names of the cards in the hand."""
        keys = self.page.locator(".hand-card").evaluate_all("cards => cards.map(card => card.dataset.key)")
        return [key.split("#")[0] for key in keys]

    @property
    def chosen(self) -> list[str]:
        """Names of the cards that are chosen."""
        keys = self.page.locator(".hand-card[aria-pressed=true]").evaluate_all(
            "cards => cards.map(card => card.dataset.key)"
        )
        return [key.split("#")[0] for key in keys]

    @property
    def moves(self) -> int:
        """Moves that the log lists."""
        return int(self.page.locator(".log-move").count())

    def click(self, name: str, card: int = 1) -> None:
        """Click a card's visible corner."""
        self.page.locator(f'.hand-card[data-key="{name}#{card}"]').click(position={"x": 8, "y": 8})

    def choose(self, cards: list[str]) -> None:
        """Click these cards."""
        for name, copies in Counter(cards).items():
            for copy in range(copies):
                self.click(name, copy + 1)

    def until_turn(self) -> bool:
        """Wait for the own turn; return whether a round or the match is over instead."""
        self.page.locator(READY).first.wait_for()
        return self.page.locator(".felt.over, dialog[open]").count() > 0

    def act(self, do: Callable[[], Any], counted: str = "version") -> None:
        """Do something that the server answers with a new state."""
        before = self.page.locator("main").get_attribute(f"data-{counted}")
        do()
        self.page.wait_for_function(
            "([name, before]) => document.querySelector('main').dataset[name] !== before",
            arg=[counted, before],
            polling=POLLING,
        )

    def take_turn(self, *, keys: bool = False) -> None:
        """Play what the page suggests first, or pass; say a word where that is asked; by clicks or by keys.

        Return when the server has taken it. What others do meanwhile, as in a tribute, changes the version,
        and not since when one is asked.
        """
        page = self.page
        self.act(
            lambda: self._choose(keys) if page.locator(".word-move").count() else self._play(keys), "since"
        )

    def _choose(self, keys: bool) -> None:
        if keys:
            self.page.keyboard.press("ArrowRight")
            self.page.keyboard.press("Enter")
        else:
            self.page.locator(".word-move").last.click()

    def _play(self, keys: bool) -> None:
        page, playable = self.page, self.page.locator(".play[aria-disabled=false]")
        page.keyboard.press("s") if keys else page.get_by_role("button", name="Suggest").click()
        page.locator(".play[aria-disabled=false], .nothing").first.wait_for()
        if keys:
            page.keyboard.press("Enter" if playable.count() else "p")
        else:
            page.locator(".play" if playable.count() else ".pass-button").click()

    def play_to_the_end(self, *, keys: bool = False, turns: int = 60) -> None:
        """Play until a game's round is over."""
        for _ in range(turns):
            if self.until_turn():
                return
            self.take_turn(keys=keys)
        raise AssertionError("the round goes on and on")

    def play_turns(self, turns: int) -> None:
        """Play so many turns, going on after each round."""
        for _ in range(turns):
            if self.until_turn():
                self.page.locator("dialog .next").click()
                self.until_turn()
            self.take_turn()
