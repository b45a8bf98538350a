"""docs/results.md holds what its programs make of the numbers that are kept beside it."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "benchmarks"))  # scripts, not part of the library
import catalogue  # noqa: E402
import trained  # noqa: E402


def kept(name: str) -> str:
    """The part of the page that a benchmark makes."""
    return PAGE.split(f"<!-- {name}: made by benchmarks/{name}.py -->")[1].split(f"<!-- end of {name} -->")[0].strip()


@pytest.mark.slow
def test_the_tables_of_the_list_are_made_of_its_kept_numbers() -> None:
    found = json.loads(catalogue.KEPT.read_text("utf-8"))
    assert kept("catalogue") == "\n".join(catalogue.table(found)).strip()


@pytest.mark.slow
def test_the_trained_table_is_made_of_the_kept_results() -> None:
    assert kept("trained") == trained.told(ROOT / "docs" / "results" / "miniature" / "seed-0")
