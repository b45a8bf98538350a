"""The notebooks that state the method: short, open and right."""

import ast
import re

import pytest
from notebook_runs import FOLDER, problems, run

pytestmark = pytest.mark.slow

CODE = sorted(path.relative_to(FOLDER).as_posix() for path in (FOLDER / "code").glob("*.py"))


@pytest.mark.parametrize("name", CODE)
def test_every_cell_is_open_short_and_runs(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert text[text.index("import marimo") :].count("\n") <= 120 and "hide_code" not in text  # below its header
    assert any(isinstance(each, ast.FunctionDef) for each in ast.parse(text).body)
    assert re.search(r"\b[34]\.\d\b", text), "no section of the paper"
    shown, _ = run(name)
    assert set(problems(shown)) <= {"TreeError"}  # the notebook about trees shows how one is refused


def test_a_reward_by_hand_is_that_of_the_library() -> None:
    _, defined = run("code/3_reward.py")
    assert defined["earned"].total == pytest.approx(defined["r_d"] + defined["r_e"])


def test_a_state_by_hand_is_that_of_the_simulator() -> None:
    _, defined = run("code/2_user.py")
    assert defined["state"] == defined["candidate"].after and defined["talk"].turns
