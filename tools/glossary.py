"""Make docs/glossary.md again: `.venv/bin/python tools/glossary.py > docs/glossary.md`."""

import sys

from discover_lib.base.glossary import TERMS


def as_markdown() -> str:
    """The whole glossary as a table, the text of `docs/glossary.md`."""
    rows = [f"| **{term.name}** | {term.symbol} | {term.meaning} | {term.source} |" for term in TERMS.values()]
    head = "# Glossary\n\nGenerated from `discover_lib/base/glossary.txt`. Sections are the paper's.\n\n"
    return head + "| term | symbol | meaning | paper |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(as_markdown().encode("utf-8"))
