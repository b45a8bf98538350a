"""The glossary: one plain sentence a word, and the page in docs says the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from discover_lib.base.glossary import TERMS, as_markdown, meaning

DOCS = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_a_meaning_is_one_sentence(term):
    assert term.meaning[0].isupper() and term.meaning.endswith(".")
    assert len(re.findall(r"[.!?](?:\s|$)", term.meaning)) == 1
    assert len(term.meaning) <= 110


def test_every_symbol_stands_for_one_term():
    symbols = [term.symbol for term in TERMS.values() if term.symbol]
    assert len(symbols) == len(set(symbols))
    assert {"p", "θ", "R", "R_d", "R_e", "τ", "λ", "eq. 4", "κ"} <= set(symbols)


def test_the_page_in_docs_is_made_from_the_record():
    made_again = "make it again: .venv/bin/python -m discover_lib.base.glossary > docs/glossary.md"
    assert DOCS.read_text(encoding="utf-8") == as_markdown(), made_again


def test_the_page_is_made_by_the_command_that_is_named() -> None:
    done = subprocess.run([sys.executable, "-m", "discover_lib.base.glossary"], capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == as_markdown()


def test_an_unknown_word_is_an_error():
    assert meaning("emerging").startswith("The user half knows")
    with pytest.raises(KeyError):
        meaning("half-formed")
