"""Benchmarks run by their owners' own commands: which tool is here, what it is asked, where its log lies."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_text_lines
from discover_lib.engines.llm.assistants import model_and_style
from discover_lib.engines.llm.calls.direct import PREFIX
from discover_lib.engines.llm.calls.litellm import NO_KEY
from discover_lib.engines.spec import asked_assistants

OUTPUT = "output.txt"


@dataclass(frozen=True)
class Asked:
    """A benchmark to be run.

    Attributes:
        task: as its tool names it: a task of Inspect, probes of garak.
        api_base: of an OpenAI-compatible server; None: the tool reaches the model as it does by itself.
        more: arguments handed to the tool as they are.
    """

    task: str
    api_base: str | None = None
    key: str = NO_KEY
    seed: int = 0
    more: Sequence[str] = ()


@dataclass(frozen=True)
class Tool:
    """Somebody else's command."""

    command: str
    module: str  # that must be importable here to read its logs; "": none
    get: str
    arguments: Callable[[Asked, str, Path], list[str]]
    environment: Callable[[Asked], Mapping[str, str]]
    log: str  # pattern of the log's name in the folder


def _inspect(asked: Asked, model: str, folder: Path) -> list[str]:
    server = ["--model-base-url", asked.api_base] if asked.api_base else []
    name = f"openai-api/discover/{model.removeprefix(PREFIX)}" if asked.api_base else model
    return ["eval", asked.task, "--model", name, *server, "--log-dir", str(folder), "--log-format", "eval"]


def _garak(asked: Asked, model: str, folder: Path) -> list[str]:
    kind, name = ("openai.OpenAICompatible", model.removeprefix(PREFIX)) if asked.api_base else ("litellm", model)
    options = {"openai": {"OpenAICompatible": {"uri": asked.api_base}}}
    server = ["--generator_options", json.dumps(options)] if asked.api_base else []
    target = ["--target_type", kind, "--target_name", name, *server]
    return [*target, "--probes", asked.task, "--seed", str(asked.seed), "--report_prefix", str(folder / "garak")]


TOOLS = {
    "inspect": Tool(
        "inspect",
        "inspect_ai",
        "pip install 'discover-lib[inspect]', and its benchmarks: pip install inspect-evals",
        _inspect,
        lambda asked: {"DISCOVER_API_KEY": asked.key} if asked.api_base else {},
        "*.eval",
    ),
    "garak": Tool(
        "garak",
        "",
        "pipx install garak (it pins torch, so an environment of its own)",
        _garak,
        lambda asked: {"OPENAICOMPATIBLE_API_KEY": asked.key} if asked.api_base else {},
        "garak.report.jsonl",
    ),
}


def tool_of(via: str) -> Tool:
    """The tool, if it is on this machine.

    Raises:
        DiscoverError: it is not; the message says how to get it.
    """
    if via not in TOOLS:
        raise DiscoverError(
            f"{via}: its command writes to its own memory, and none exports that; run it there, export the "
            "conversations as JSON (docs/safety.md), and give --log ASSISTANT=FILE for each"
        )
    tool = TOOLS[via]
    if _path_of(tool) is None or (tool.module and importlib.util.find_spec(tool.module) is None):
        raise DiscoverError(f"--via {via} needs {tool.command} on this machine: {tool.get}")
    return tool


def _path_of(tool: Tool) -> str | None:
    """Beside this Python, or wherever the shell finds it."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which(tool.command, path=places)


def check_names(assistants: Sequence[str], api_base: str | None) -> None:
    """Whether a tool of others can reach these assistants.

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


def log_folders(tool: Tool, assistants: Sequence[str], out: Path) -> dict[str, Path]:
    """Assistant → the folder of its log.

    Raises:
        DiscoverError: one was run there before: what was paid for is not run over.
    """
    folders = {}
    for place, name in enumerate(assistants, 1):
        folders[name] = out / f"{place}-{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}"
        if any(folders[name].glob(tool.log)):
            raise DiscoverError(f"{folders[name]}: holds an earlier run; read it with --log, or choose another --out")
    return folders


def run_benchmark(tool: Tool, asked: Asked, model: str, folder: Path) -> Path:
    """Run the tool once; returns its log.  What it prints is kept beside that.

    Raises:
        DiscoverError: it failed, or wrote no log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [_path_of(tool) or tool.command, *tool.arguments(asked, model, folder.resolve()), *asked.more]
    write_text_lines(folder / "command.txt", [shlex.join(command)])
    output = folder / OUTPUT
    with output.open("wb") as file:
        environment = {**os.environ, **tool.environment(asked)}
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False
        )
    logs = sorted(folder.glob(tool.log))
    if done.returncode or len(logs) != 1:
        what = f"ended with {done.returncode}" if done.returncode else f"wrote {len(logs)} logs, not one"
        said = [line for line in output.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise DiscoverError(f"{tool.command} {what} for {model}: {''.join(said[-1:])[:200]}; all it said: {output}")
    return logs[0]
