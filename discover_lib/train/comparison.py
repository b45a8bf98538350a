"""What a training run has changed: the model before and after it, asked the same.

One model at a time; on a GPU in a process of its own, whose memory is free again for the stage that comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from discover_lib.core.conversation import Conversation, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.dialect import PREFIX
from discover_lib.engines.local.lineage import adapter_chain
from discover_lib.engines.local.names import BEFORE, local_assistant, on_gpu
from discover_lib.engines.miniature import engine
from discover_lib.runs.work import Alone, Processes, work

Result = TypeVar("Result")


def before_and_after(run: Path) -> dict[str, str]:
    """ "before" and "after" of a finished run → assistant.  Both are asked as the run was trained: what differs is its
    adapter alone.

    Raises:
        LineageError: the run has no adapter yet, or what it was trained on cannot be told.
    """
    adapter_chain(run)
    return {"before": f"{PREFIX}{run}+{BEFORE}", "after": f"{PREFIX}{run}"}


def replies(names: Mapping[str, str], domain: str, messages: Sequence[Message], seed: int) -> dict[str, Reply]:
    """What each of some assistants answers; by the label that its name has in `names`."""
    return _of_each(names, partial(_reply, domain, tuple(messages), seed))


def conversations(names: Mapping[str, str], domain: str, tree: IntentTree, seed: int) -> dict[str, Conversation]:
    """How each of some assistants fares with the same simulated user of the miniature."""
    return _of_each(names, partial(_conversation, domain, tree, seed))


def _of_each(names: Mapping[str, str], ask: Callable[[str], Result]) -> dict[str, Result]:
    results: list[Result] = []
    work(list(names.values()), ask, results.append, Processes(1, fresh=True, chunk=1) if on_gpu() else Alone())
    return dict(zip(names, results, strict=True))


def _reply(domain: str, messages: tuple[Message, ...], seed: int, name: str) -> Reply:
    return local_assistant(name, domain).reply(messages, seed)


def _conversation(domain: str, tree: IntentTree, seed: int, name: str) -> Conversation:
    world, assistant = engine(domain), local_assistant(name, domain)
    return run_conversation(tree, world.judge, world.voice, [assistant], seed=seed, setting={"domain": domain})
