"""Every command in an environment with the core packages alone: what it needs beyond them is named in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from discover_lib.engines.miniature.artifacts import generate_artifact
from workbench.main import app

pytestmark = pytest.mark.slow

# What the extras bring.  Python's own finder overlooks them, so that to look for them finds nothing, either.
HIDE = """
import importlib.machinery
ABSENT = {"accelerate", "datasets", "fastapi", "inspect_ai", "jupyterlab", "peft", "pyarrow", "ray", "safetensors",
          "torch", "transformers", "trl"}
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = classmethod(
    lambda finder, name, *where: None if name.split(".")[0] in ABSENT else find(name, *where)
)
"""
RUN_THEM = """
import json, sys
from typer.testing import CliRunner
from workbench.main import app
from discover_lib.engines.miniature.artifacts import generate_artifact
said = {}
for name, words in json.loads(sys.argv[1]).items():
    done = CliRunner().invoke(app, [name, *words.split()])
    said[name] = [done.exit_code, done.stdout, done.stderr, repr(done.exception)]
json.dump(said, open("said.json", "w"))
"""
# Command → its words, and what it says; "" where the core packages are enough.
COMMANDS = {
    "synthesize": ("--domain svg_drawing --assistant draft --assistant ask --artifacts 2 --turns 1 --run run", ""),
    "simulate": ("--domain svg_drawing --assistant draft --artifacts 1 --turns 1 --run simulated", ""),
    "audit": ("run", ""),
    "certify": ("run --artifacts 2", ""),
    "build": ("drawing.svg --type svg_drawing --out built", ""),
    "demo": ("--domain svg_drawing --turns 1 --out demo", ""),
    "doctor": ("", ""),
    "evaluate": ("--domain svg_drawing --assistant tiny --artifacts 1 --run evaluated", "'tiny' needs torch"),
    "export": ("run --format parquet --out exported", "Parquet needs a library that is not installed"),
    "import": ("nowhere.eval --format inspect --run imported", "needs inspect-ai"),
    "merge": ("nowhere --out merged", "nowhere"),
    "miniature": ("--quick --run miniature", "training needs torch, transformers, trl, peft"),
    "paper": ("", ""),
    "plan": ("--domain svg_drawing --assistant draft", ""),
    "push": ("nowhere --to me/mine", "no token for the Hub here"),
    "reality": ("run run", "run"),
    "safety": ("simulated", ""),
    "serve": ("--domain svg_drawing", "needs another package"),
    "share": ("run --out shared.html", ""),
    "show": ("discover://nothing", "discover://"),
    "train": ("sft --data run --base tiny --run trained", "training needs torch"),
}
ELSEWHERE = {"open", "site", "study"}  # they serve until they are stopped, or fetch; tests of their own begin them


def test_every_command_says_in_one_line_what_is_not_installed(tmp_path: Path) -> None:
    group = get_command(app)
    assert {*COMMANDS} | ELSEWHERE == {*group.list_commands(Context(group))}  # type: ignore[attr-defined]
    (tmp_path / "drawing.svg").write_text(generate_artifact("svg_drawing", "eval", 0).text)
    asked = json.dumps({name: words for name, (words, _) in COMMANDS.items()})
    program = [sys.executable, "-c", HIDE + RUN_THEM, asked]
    environment = {**os.environ, "HF_TOKEN": "", "HF_HOME": str(tmp_path), "DISCOVER_OUTPUTS": str(tmp_path)}
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wrong = {}
    for name, (code, out, error, raised) in json.loads((tmp_path / "said.json").read_text()).items():
        line = COMMANDS[name][1]
        refused = code == 2 and line in error and error.startswith("discover: ") and error.count("\n") == 1
        if not (refused if line else code in (0, 1) and raised in ("None", "SystemExit(1)")):
            wrong[name] = (code, out[-500:], error, raised)
    assert not wrong
