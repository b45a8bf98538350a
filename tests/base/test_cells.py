"""A cell of a table is shown by every spreadsheet, and computed by none."""

import pytest

from discover_lib.base.cells import harmless, harmless_row


@pytest.mark.parametrize(
    "cell", ["-1", "=1+1", "+1", "@x", "\t=1", "\n=1", "  =1", "\u3000=1", "＝1", "＋1", "－1", "＠x"]
)
def test_what_may_be_a_formula_stands_behind_an_apostrophe(cell: str) -> None:
    assert harmless(cell) == f"'{cell}" == harmless(harmless(cell))


def test_what_a_screen_obeys_is_written_out() -> None:
    assert harmless("a\u202eb\x1b[2J\ud800") == "a<U+202E>b<U+001B>[2J<U+D800>"
    assert harmless("\x1b=1") == "<U+001B>=1"


@pytest.mark.parametrize("cell", ["", "a\nb – c", "svg_drawing-eval-000", "1.1", "a=b", "👩\u200d🚀"])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert harmless(cell) == cell


def test_numbers_of_a_row_are_numbers() -> None:
    assert harmless_row({"a": -1.5, "b": "-1.5", "c": None}) == {"a": -1.5, "b": "'-1.5", "c": None}
