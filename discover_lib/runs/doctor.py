"""What this machine has, and whether what is chosen can work on it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

ASSISTANT = "adaptive"  # who answers where nothing else is said
PACKAGES = (
    "marimo",
    "plotly",
    "networkx",
    "anywidget",
    "ipywidgets",
    "litellm",
    "numpy",
    "scipy",
    "pandas",
    "jupyterlab",
)
TRAINING_PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "unsloth")
BACKENDS = ("auto", "unsloth", "transformers")


@dataclass(frozen=True)
class Finding:
    """One line of the report.  `problem` means that something chosen cannot work."""

    topic: str
    text: str
    problem: bool = False
    present: bool = True


def examine(
    engine: str = "miniature",
    backend: str = "auto",
    *,
    roles: Mapping[str, str] | None = None,
    settings: ClientSettings | None = None,
) -> list[Finding]:
    """Versions, device, backend and why, which role talks to what.

    Args:
        engine: who builds, judges and speaks: "miniature", or a LiteLLM model, which is then asked one word.
        roles: another player for single roles, e.g. {"judge": MODEL}.
        settings: how models are reached.
    """
    gpu = find_gpu()
    findings = [Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")]
    findings += [_package(name) for name in ("discover-lib", *PACKAGES, *TRAINING_PACKAGES)]
    findings.append(Finding("device", gpu or "CPU only (no NVIDIA GPU found)"))
    findings.append(_backend(backend, gpu))
    findings += _roles(engine, roles or {}, settings)
    return findings


def find_gpu() -> str | None:
    """The first NVIDIA GPU by name and memory, or None.  Asks the driver, so that torch need not be imported."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return None
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.strip().splitlines() if answer.returncode == 0 else []
    return lines[0] if lines else None


def _package(name: str) -> Finding:
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", present=False)


def _backend(backend: str, gpu: str | None) -> Finding:
    if backend not in BACKENDS:
        return Finding("backend", f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}", True)
    unsloth = importlib.util.find_spec("unsloth") is not None
    if backend == "unsloth" and not (gpu and unsloth):
        missing = "no GPU was found" if not gpu else "it is not installed (pip install 'discover-lib[gpu]')"
        return Finding("backend", f"unsloth cannot be used: {missing}; choose --backend transformers", True)
    if backend != "transformers" and gpu and unsloth:
        return Finding("backend", "unsloth, since a GPU and unsloth are here")
    if importlib.util.find_spec("torch") is None:
        chosen = backend == "transformers"
        return Finding("backend", "none: torch is not installed (pip install 'discover-lib[train]')", chosen)
    why = "as asked" if backend == "transformers" else ("unsloth is not installed" if gpu else "no GPU was found")
    return Finding("backend", f"transformers + peft ({why})")


def _roles(engine: str, roles: Mapping[str, str], settings: ClientSettings | None) -> list[Finding]:
    """Which role talks to what: every model chosen is asked once."""
    from discover_lib.engines.miniature.assistants import SCRIPTED
    from discover_lib.engines.spec import MINIATURE
    from discover_lib.runs.connection import check_connection
    from discover_lib.runs.options import is_model

    chosen = {"tree builder": engine, "judge": engine, "voice": engine, "assistant": ASSISTANT, **roles}
    players = (MINIATURE, *SCRIPTED)
    unknown = {role: name for role, name in chosen.items() if name not in players and not is_model(name)}
    known = {role: name for role, name in chosen.items() if role not in unknown}
    lines = {each.role: each for each in check_connection(known, settings)}
    return [
        Finding(role, f"{unknown[role]!r} is no model: give 'miniature' or a LiteLLM name such as openai/NAME", True)
        if role in unknown
        else Finding(role, lines[role].text, not lines[role].works)
        for role in chosen
    ]
