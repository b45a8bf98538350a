"""The pages of text say what there is: links, commands, options, imported names, and the tables of results."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from workbench.main import app

ROOT = Path(__file__).resolve().parent.parent
TOLD = re.compile(r"(?<![\w/-])discover (\w+)((?: [^`\n#|;]*)?)")
OF_OTHERS = re.compile(r'"[^"\n]*"')  # quoted, such as --tool-arguments "--limit 100": options of another tool


def pages() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout: no way to tell the project's pages from others")
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def printed_commands(text: str) -> Iterator[tuple[str, str]]:
    """Name and the rest of every `discover` command of a text, broken lines joined."""
    for told in TOLD.finditer(re.sub(r"\\\n\s*", " ", text)):
        yield told[1], OF_OTHERS.sub("", told[2])


def options_of(name: str, rest: str) -> set[str]:
    command = get_command(app).get_command(Context(get_command(app)), name).load()  # type: ignore[attr-defined]
    inner = getattr(command, "commands", {}).get(rest.split()[0] if rest.split() else "")
    return {"--help"}.union(*((*each.opts, *each.secondary_opts) for each in (inner or command).params))


@pytest.mark.slow
def test_every_command_and_option_that_a_page_prints_exists() -> None:
    unknown, seen = [], 0
    there = get_command(app).list_commands(Context(get_command(app)))  # type: ignore[attr-defined]
    for page in [*pages(), *sorted((ROOT / "notebooks").rglob("*.py"))]:
        for name, rest in printed_commands(page.read_text(encoding="utf-8")):
            given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest))
            seen += bool(given)
            if given and (name not in there or not given <= options_of(name, rest)):
                unknown.append(f"{page.name}: discover {name}{rest}")
    assert seen > 50 and not unknown


@pytest.mark.slow
def test_what_a_page_imports_of_the_library_is_there() -> None:
    imported = 0
    for page in pages():
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("discover_lib"):
                    continue
                if str(node.module).startswith("discover_lib.doors"):
                    continue  # each wants a package of its own; tests/doors runs their blocks
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, each.name) for each in node.names), f"{page.name}: {ast.unparse(node)}"
                imported += 1
    assert imported > 5


def test_the_versions_of_a_gpu_machine_stand_beside_those_of_the_tests() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from lock import PAGE, TABLE, versions_table

    found = TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found and found[0] == versions_table(), "tools/lock.py --table writes it anew"


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in pages():
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, part = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name}: {link}"
            if part:
                titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                assert part in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, link


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
