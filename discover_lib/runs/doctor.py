"""Check this machine, its packages, and the players of all roles.

A check of a model costs one cheap call.  Results never contain a key, only the name of its variable.
"""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import MINIATURE, is_model, model_of

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
    from discover_lib.engines.llm.calls.exchange import Request

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

QUESTION = "Reply with the one word: ready"
MAX_TOKENS = 200  # room for a model that thinks before its one word
SECONDS = 30.0
NO_MODEL = {
    "tree builder": "miniature: the lexicons, no model, no network",
    "judge": "miniature: parses drawings and prose, no model, no network",
    "voice": "miniature: seeded phrases, no model, no network",
    "assistant": "scripted, no model, no network",
}


@dataclass(frozen=True)
class Line:
    """A checked part or role of this machine, in one line of text.

    Attributes:
        role: "judge", "device", a package ...
        works: False for a choice that cannot work.
        present: False for a missing package.
    """

    role: str
    text: str
    works: bool = True
    present: bool = True


def examine(
    engine: str = "miniature",
    *,
    roles: Mapping[str, str] | None = None,
    settings: ClientSettings | None = None,
    options: RoleOptions = NO_OPTIONS,
) -> list[Line]:
    """Versions, device, and the player of each role.

    Args:
        engine: builder, judge and voice: "miniature", or a LiteLLM model, which is then asked for one word.
        roles: other players for single roles, e.g. {"judge": MODEL}.
        settings: endpoints of models.
        options: options of models.
    """
    return [
        Line("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *(_package(name) for name in ("discover-lib", *PACKAGES, *TRAINING_PACKAGES)),
        Line("device", find_gpu() or "CPU only (no NVIDIA GPU found)"),
        *_roles(engine, roles or {}, settings, options),
    ]


def find_gpu() -> str | None:
    """The first NVIDIA GPU by name and memory, or None.  Asks the driver, so that torch need not be imported."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = answer.stdout.strip().splitlines() if answer.returncode == 0 else []
    return lines[0] if lines else None


def _package(name: str) -> Line:
    try:
        return Line(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Line(name, "not installed", present=False)


def _roles(
    engine: str, roles: Mapping[str, str], settings: ClientSettings | None, options: RoleOptions
) -> Iterator[Line]:
    """The player of each role; every model is asked once."""
    chosen = {"tree builder": engine, "judge": engine, "voice": engine, "assistant": ASSISTANT, **roles}
    players = (MINIATURE, *SCRIPTED)
    known = {role: name for role, name in chosen.items() if name in players or is_model(name)}
    lines = {each.role: each for each in check_connection(known, settings, options)}
    for role, name in chosen.items():
        text = f"{name!r} is not a model: give 'miniature' or a LiteLLM name such as openai/NAME"
        yield lines.get(role) or Line(role, text, False)


# -- does it answer? ------------------------------------------------------------------------------------------------


def check_connection(
    roles: Mapping[str, str], settings: ClientSettings | None = None, options: RoleOptions = NO_OPTIONS
) -> list[Line]:
    """Ask every language model among the players once; the miniature and scripts need no call.

    Args:
        roles: role → "miniature", a scripted assistant, or a model as MODEL or MODEL+STYLE.
        settings: endpoints of models; one attempt and half a minute are enough here.
        options: options of models; a model with two sets of options is asked twice.
    """
    scripts = {MINIATURE: NO_MODEL, **{name: {"assistant": f"{name}: {NO_MODEL['assistant']}"} for name in SCRIPTED}}
    requests = {role: _request(role, player, options) for role, player in roles.items() if player not in scripts}
    answers = _ask_all(requests, settings) if requests else {}
    return [
        Line(role, *(answers[role] if role in answers else (scripts[player].get(role, MINIATURE),)))
        for role, player in roles.items()
    ]


def _request(role: str, player: str, options: RoleOptions) -> Request:
    """The question with the options of a role in a run."""
    from discover_lib.engines.llm.calls.exchange import Request

    asked = {"max_tokens": MAX_TOKENS} | options.of("builder" if role == "tree builder" else role, player)
    return Request(model_of(player), ({"role": "user", "content": QUESTION},), "connection test", **asked)


def _ask_all(requests: Mapping[str, Request], settings: ClientSettings | None) -> dict[str, tuple[str, bool]]:
    """The answer to each role's question; equal questions are asked once."""
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

    settings = settings or ClientSettings()
    quick = replace(settings, max_attempts=1, timeout_seconds=min(SECONDS, settings.timeout_seconds))
    questions = {request.key: request for request in requests.values()}
    with LLMClient(quick) as client, ThreadPoolExecutor(len(questions)) as threads:
        answers = dict(zip(questions, threads.map(partial(_ask, client), questions.values()), strict=True))
    return {role: answers[request.key] for role, request in requests.items()}


def _ask(client: LLMClient, request: Request) -> tuple[str, bool]:
    """The result of a question, in words, and whether the model works."""
    from discover_lib.engines.llm.calls.exchange import LLMError

    model = request.model
    where = f" at {client.settings.api_base}" if client.settings.api_base else ""
    try:
        done = client.complete(request)
    except LLMError as error:
        answer = " ".join(str(error).split())
        if error.kind == "content":
            return f"{model}{where}: reached, but it wrote no text ({answer})", True
        return f"{answer}{'' if (client.settings.api_base or '') in answer else where}", False
    if not done.text:
        return f"{model}{where}: reached, but it wrote no text within {request.max_tokens} tokens", True
    price = "price unknown" if done.cost is None else f"${done.cost:.6f}"
    word = " ".join(done.text.split())
    answer = word if len(word) <= 30 else word[:29] + "…"
    return f"{model}{where}: answered “{answer}” in {done.seconds:.1f} s, {price}", True
