"""Which role talks to what, and does it answer?  One cheap call per language model that was chosen.

Results never hold a key: only the name of the variable that it is read from.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.spec import MINIATURE, model_of

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

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
    """One role: who plays it, and whether that works.  `text` is one line for people."""

    role: str
    player: str
    text: str
    works: bool = True


@dataclass(frozen=True)
class _Answer:
    text: str
    works: bool


def check_connection(roles: Mapping[str, str], settings: ClientSettings | None = None) -> list[Line]:
    """Ask every language model among the players once; the miniature and scripts need no asking.

    Args:
        roles: role → "miniature", a scripted assistant, or a model as MODEL or MODEL+STYLE.
        settings: how models are reached; one attempt and half a minute are enough here.
    """
    models = {model_of(player) for player in roles.values() if player not in (MINIATURE, *SCRIPTED)}
    answers = _ask_all(sorted(models), settings) if models else {}
    return [_line(role, player, answers) for role, player in roles.items()]


def _line(role: str, player: str, answers: Mapping[str, _Answer]) -> Line:
    if player == MINIATURE:
        return Line(role, player, NO_MODEL.get(role, "miniature"))
    if player in SCRIPTED:
        return Line(role, player, f"{player}: {NO_MODEL['assistant']}")
    answer = answers[model_of(player)]
    return Line(role, player, answer.text, answer.works)


def _ask_all(models: list[str], settings: ClientSettings | None) -> dict[str, _Answer]:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

    settings = settings or ClientSettings()
    quick = replace(settings, max_attempts=1, timeout_seconds=min(SECONDS, settings.timeout_seconds))
    with LLMClient(quick) as client, ThreadPoolExecutor(len(models)) as threads:
        return dict(zip(models, threads.map(lambda model: _ask(client, model), models), strict=True))


def _ask(client: LLMClient, model: str) -> _Answer:
    from discover_lib.engines.llm.calls.records import LLMError, Request

    where = f" at {client.settings.api_base}" if client.settings.api_base else ""
    request = Request(model, ({"role": "user", "content": QUESTION},), "connection test", max_tokens=MAX_TOKENS)
    try:
        done = client.complete(request)
    except LLMError as error:
        said = " ".join(str(error).split())
        if error.kind == "content":
            return _Answer(f"{model}{where}: reached, but it wrote no text ({said})", True)
        return _Answer(f"{said}{where if where.strip() not in said else ''}", False)
    price = "price unknown" if done.cost is None else f"${done.cost:.6f}"
    word = " ".join(done.text.split())
    said = word if len(word) <= 30 else word[:29] + "…"
    return _Answer(f"{model}{where}: answered “{said}” in {done.seconds:.1f} s, {price}", True)
