"""Benchmarks run by Inspect's own command: whether it is here, what it is asked, where its log lies."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_text_lines
from discover_lib.engines.llm.assistants import model_and_style
from discover_lib.engines.llm.calls.wires import NO_KEY, PREFIX
from discover_lib.engines.spec import asked_assistants

LOG, OUTPUT = "*.eval", "output.txt"


@dataclass(frozen=True)
class Asked:
    """A benchmark to be run.

    Attributes:
        task: as Inspect names it.
        api_base: of an OpenAI-compatible server; None: Inspect reaches the model as it does by itself.
        more: arguments handed to Inspect as they are.
    """

    task: str
    api_base: str | None = None
    key: str = NO_KEY
    more: Sequence[str] = ()


def _arguments(asked: Asked, model: str, folder: Path) -> list[str]:
    """What Inspect's command is given."""
    server = ["--model-base-url", asked.api_base] if asked.api_base else []
    name = f"openai-api/discover/{model.removeprefix(PREFIX)}" if asked.api_base else model
    return ["eval", asked.task, "--model", name, *server, "--log-dir", str(folder), "--log-format", "eval"]


def check_inspect() -> None:
    """Whether Inspect is on this machine.

    Raises:
        DiscoverError: it is not; the message says how to get it.
    """
    if _inspect() is None or importlib.util.find_spec("inspect_ai") is None:
        raise DiscoverError(
            "--via inspect needs inspect on this machine: pip install 'discover-lib[inspect]', and its benchmarks: "
            "pip install inspect-evals"
        )


def _inspect() -> str | None:
    """Its command, beside this Python or wherever the shell finds it."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which("inspect", path=places)


def check_names(assistants: Sequence[str], api_base: str | None) -> None:
    """Whether Inspect can reach these assistants.

    Raises:
        DiscoverError: naming the one that it cannot.
    """
    behind = asked_assistants(assistants)
    for name in assistants:
        if name not in behind:
            raise DiscoverError(f"{name} speaks in this program alone; serve a model first (docs/serving.md)")
        if model_and_style(name)[1]:
            raise DiscoverError(f"{name}: a benchmark brings its own system prompt; give {model_and_style(name)[0]}")
        if api_base and not name.startswith(PREFIX):
            raise DiscoverError(f"{name}: behind --api-base a model is named openai/NAME")


def log_folders(assistants: Sequence[str], out: Path) -> dict[str, Path]:
    """Assistant → the folder of its log.

    Raises:
        DiscoverError: one was run there before: what was paid for is not run over.
    """
    folders = {}
    for place, name in enumerate(assistants, 1):
        folders[name] = out / f"{place}-{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}"
        if any(folders[name].glob(LOG)):
            raise DiscoverError(f"{folders[name]}: holds an earlier run; read it with --log, or choose another --out")
    return folders


def run_benchmark(asked: Asked, model: str, folder: Path) -> Path:
    """Run Inspect once; returns its log.  What it prints is kept beside that.

    Raises:
        DiscoverError: it failed, or wrote no log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [_inspect() or "inspect", *_arguments(asked, model, folder.resolve()), *asked.more]
    write_text_lines(folder / "command.txt", [shlex.join(command)])
    output = folder / OUTPUT
    with output.open("wb") as file:
        environment = {**os.environ, **({"DISCOVER_API_KEY": asked.key} if asked.api_base else {})}
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False
        )
    logs = sorted(folder.glob(LOG))
    if done.returncode or len(logs) != 1:
        what = f"ended with {done.returncode}" if done.returncode else f"wrote {len(logs)} logs, not one"
        said = [line for line in output.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise DiscoverError(f"inspect {what} for {model}: {''.join(said[-1:])[:200]}; all it said: {output}")
    return logs[0]
