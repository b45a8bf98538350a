"""The words of intent discovery, each stated once.

They are written in `glossary.txt`; legends, chips, tooltips, receipts, help texts and `docs/glossary.md` take them from
here, so that a page, a command and the paper mean the same thing by the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """One word of the method.

    Attributes:
        name: the word as pages and commands write it.
        meaning: one sentence that a newcomer understands.
        source: where the paper states it; empty for words of this workbench.
        symbol: its letter in the paper's formulas, if it has one.
    """

    name: str
    meaning: str
    source: str = ""
    symbol: str = ""

    @property
    def title(self) -> str:
        """The word, its symbol and its meaning, as a tooltip shows them."""
        return f"{self.name}{f' ({self.symbol})' if self.symbol else ''}: {self.meaning}"


def _read_terms() -> dict[str, Term]:
    lines = Path(__file__).with_name("glossary.txt").read_text(encoding="utf-8").splitlines()
    cells = (map(str.strip, line.split("|")) for line in lines if not line.startswith("#"))
    terms = (Term(name, meaning, "".join(source), symbol) for name, symbol, meaning, *source in cells)
    return {term.name: term for term in terms}


TERMS: Mapping[str, Term] = _read_terms()


def meanings(*names: str) -> str:
    """Words with their symbols and sentences, as one tooltip shows them, a line each.

    Raises:
        KeyError: the glossary has no such word.
    """
    return "\n".join(TERMS[name].title for name in names)
