"""Tables in Markdown: as written, and only of rows that fit."""

from __future__ import annotations

import pytest

from experiments.markdown import markdown_table


def test_a_table_is_written_without_padding_and_a_bar_in_a_cell_does_not_end_it() -> None:
    made = markdown_table(("game", "k"), [("kuhn_poker", 3), ("1.50", ""), ("x|y", 1)], "lr")
    assert made == "| game | k |\n| --- | ---: |\n| kuhn_poker | 3 |\n| 1.50 |  |\n| x\\|y | 1 |"
    assert markdown_table(("a", "b"), [], "rl") == "| a | b |\n| ---: | --- |"


@pytest.mark.parametrize(("headers", "row"), [(("a",), ("1", "2")), (("a", "b"), ("1",))])
def test_rows_of_another_length_are_refused(headers: tuple[str, ...], row: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="every row must have 2 cells"):
        markdown_table(headers, [row], "lr")
