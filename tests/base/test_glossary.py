"""The glossary: one or two plain sentences a word, and the page in docs says the same."""

import re
import sys
from pathlib import Path

from discover_lib.base.glossary import TERMS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


def test_a_meaning_is_one_or_two_short_sentences() -> None:
    for term in TERMS.values():
        sentences = re.split(r"(?<=[.!?])\s", term.meaning)
        assert len(sentences) <= 2 and all(sentence[0].isupper() and sentence[-1] == "." for sentence in sentences)
        assert all(len(sentence.split()) <= 20 for sentence in sentences), term.name


def test_the_page_in_docs_is_made_from_the_record():
    made_again = "make it again: .venv/bin/python tools/glossary.py > docs/glossary.md"
    sys.path.insert(0, str(DOCS.parents[1] / "tools"))
    from glossary import as_markdown

    assert DOCS.read_text(encoding="utf-8") == as_markdown(), made_again
