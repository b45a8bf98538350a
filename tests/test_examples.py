"""The examples in docstrings show what the library really answers."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module", ["base.records", "core.advance", "core.intents", "core.reward", "core.view", "metrics.discovery"]
)
def test_examples(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"discover_lib.{module}"))
    assert results.attempted and not results.failed
