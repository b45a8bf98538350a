"""Notebooks run from top to bottom without a browser: what their cells show and what they define."""

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from marimo._ast.app import InternalApp
from markupsafe import Markup

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.py"))
# What marimo or Python leave in an output when something went wrong, and our own line for a refusal.
ERROR_MARKS = re.compile(r"Traceback|marimo\+error|ancestor-stopped|\bException\b|\b[A-Z]\w*Error\b|dl-error")


def run(name: str, **given: Any) -> tuple[list[str], dict[str, Any]]:
    """Run a notebook; what its cells show, as text, and what they define.

    `given` replaces definitions.  A name that the notebook does not define would be ignored without a word, so it is
    refused here; all names of one cell must be given together.
    """
    spec = importlib.util.spec_from_file_location(f"notebook_{name[:2]}", FOLDER / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app: Any = module.app
    unknown = set(given) - set(InternalApp(app).graph.definitions)
    assert not unknown, f"{name} defines no {unknown}"
    outputs, defined = app.run(defs=given)
    texts = [getattr(output, "text", output) for output in outputs if output is not None]
    assert not any(isinstance(text, Markup) for text in texts), "marimo's page shows only plain str: use `styled`"
    shown = list(map(str, texts))
    return [re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL) for text in shown], dict(defined)


@cache
def plain(name: str) -> tuple[list[str], dict[str, Any]]:
    """`run` of a notebook in which nothing was chosen, run once for all tests that only look at it."""
    return run(name)


def chosen(value: Any) -> SimpleNamespace:
    """Stands for a control with this value."""
    return SimpleNamespace(value=value)


def problems(outputs: list[str]) -> list[str]:
    return [match[0] for output in outputs for match in ERROR_MARKS.finditer(output)]


class Address(dict[str, str]):
    """Stands for a page's address."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def remove(self, name: str) -> None:
        del self[name]

    def to_dict(self) -> dict[str, str]:
        return dict(self)
