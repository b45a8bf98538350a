"""Pages that hold tables which a benchmark makes."""

from pathlib import Path


def put(page: Path, name: str, text: str) -> None:
    """Put the text of the benchmark `name` into its place in a page, between two comments."""
    start, end = f"<!-- {name}: made by benchmarks/{name}.py -->", f"<!-- end of {name} -->"
    before = page.read_text("utf-8")
    page.write_text(f"{before.split(start)[0]}{start}\n{text}\n{end}{before.split(end)[1]}", encoding="utf-8")
