"""The style of the house in what people read: plain English, one word for one thing, nouns that name what they hold."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parent.parent / "discover_lib"

# Another phrase for what has a plain one → what to write.
ODD = {
    r"\b(is|are) none\b": "'invalid X', 'no such X', or what is missing",
    r"\beach so\b|\bso (often|many)\b": "a number, or 'this many'",
    r"\bwhoever\b": "who it is",
    r"\bwhat is at the same\b": "the noun",
    r"['”\"}] is no (?!longer)\w": "'X is not a Y', or 'unknown Y X'",
}
# Second names for what the glossary has a word for → the word.
SECOND_NAMES = {
    r"\bcan (move|form) (now|next)\b": "frontier",
    r"\bhalf-?(formed|known)\b|\bhalf know (it|these)\b": "emerging",
    r"\b(not found yet|still hidden|yet to be found)\b": "undiscovered",
    r"\bmet (directly|an intent)\b": "engaged",
    r"\bweight of a near miss\b": "near-miss weight",
}
pytestmark = pytest.mark.slow
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def modules() -> dict[str, ast.Module]:
    paths = LIBRARY.rglob("*.py")
    return {path.relative_to(LIBRARY).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of the string literals that are no docstrings; of an f-string "{}" stands for what is filled in."""
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and ast.get_docstring(node)
    }  # type: ignore[attr-defined]
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | docstrings:
            yield node.lineno, node.value


@cache
def all_texts() -> list[tuple[str, str]]:
    """Where it stands and the text, of the library's string literals, of its static files and of its glossary."""
    pages = [*(LIBRARY.parent / "workbench" / "views" / "static").iterdir(), LIBRARY / "base" / "glossary.txt"]
    literals = [(f"{name}:{line}", text) for name, tree in modules().items() for line, text in texts(tree)]
    return literals + [(page.name, line) for page in pages for line in page.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("phrase", "better"), (ODD | SECOND_NAMES).items(), ids=(ODD | SECOND_NAMES).values())
def test_no_text_of_the_library_says_it_oddly_or_by_a_second_name(phrase: str, better: str) -> None:
    assert [(where, text) for where, text in all_texts() if re.search(phrase, text)] == [], f"write {better}"


def parameters() -> Iterator[tuple[str, str]]:
    """Where it stands and its name, for every parameter and field that callers name."""
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                    yield f"{name}:{node.lineno}: {node.name}", argument.arg


def test_progress_callbacks_have_one_name() -> None:
    assert [(where, name) for where, name in parameters() if name in ("told", "progress")] == []


def test_parameters_name_what_they_hold() -> None:
    assert [(where, name) for where, name in parameters() if name in ("found", "said", "there")] == []
