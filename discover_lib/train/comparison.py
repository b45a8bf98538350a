"""Changes through training: the model before, at every checkpoint and after, with the same user.

One model is in memory at a time.  On a GPU it has a separate process, which frees the memory at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from discover_lib.base.files import read_json, write_json
from discover_lib.core.conversation import Conversation, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS, run_conversation
from discover_lib.dataset.rows import digest
from discover_lib.engines.local.dialect import PREFIX
from discover_lib.engines.local.lineage import BEFORE, FILE, STEPS, adapter_chain
from discover_lib.engines.local.names import local_assistant, on_gpu
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.metrics.discovery import share_discovered
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.runs.work import Processes, Workers, work

Result = TypeVar("Result")
FOLLOWED = "followed"  # folder of a run: conversations at its checkpoints


def before_and_after(run: Path) -> dict[str, str]:
    """ "before" and "after" of a finished run → assistant.  Both get the run's system message.

    Raises:
        LineageError: the run has no adapter yet, or its origin is unknown.
    """
    adapter_chain(run)
    return {"before": f"{PREFIX}{run}+{BEFORE}", "after": f"{PREFIX}{run}"}


def checkpoints(run: Path) -> dict[int, str]:
    """Update → assistant, for the model before a run (0) and at every kept checkpoint; {} if the run has not begun.

    A run keeps all its checkpoints if the adapter is small (`trainers.SMALL_ADAPTER`).
    """
    if not (run / FILE).is_file():
        return {}
    kept = sorted(map(_step_of, (run / STEPS).glob("step-*")))
    return {0: f"{PREFIX}{run}+{BEFORE}"} | {step: f"{PREFIX}{run}+step-{step}" for step in kept}


def follow(
    run: Path, domain: str, tree: IntentTree, seed: int = 0, turns: int = 1
) -> Iterator[tuple[int, Conversation]]:
    """A user's conversation with the model at every checkpoint of a run, as (update, conversation) in order.

    Each conversation is stored in the run's folder, so a second call computes new checkpoints only.  With one turn,
    `conversation.turns[0].reply` is the reply to the user's initial request.

    Raises:
        LineageError: the run's base is missing or has changed.
    """
    for step, name in checkpoints(run).items():
        yield step, _conversation_at(run, step, name, domain, tree, seed, turns)


def followed(run: Path) -> list[dict[int, Conversation]]:
    """All stored conversations of a run: for every user, update → conversation.  Needs no trainer and no model."""
    folders = sorted((run / FOLLOWED).glob("*"))
    files = [sorted(folder.glob("step-*.json"), key=_step_of) for folder in folders]
    return [{_step_of(file): Conversation.from_dict(read_json(file)) for file in user} for user in files]


def _step_of(path: Path) -> int:
    """The update in the name of a checkpoint's file or folder: ``step-20``."""
    return int(path.stem.removeprefix("step-"))


def found(
    run: Path, step: int, domain: str, users: int, seed: int = 0, on_done: Callable[[int], None] = lambda done: None
) -> Estimate | None:
    """Share of the hidden intents that the model at a checkpoint discovers, over users of the evaluation split.

    The conversations have the usual number of turns.  They are stored as in `follow`, so a stopped call resumes.

    Args:
        step: a key of `checkpoints`.
        on_done: called with the number of finished users.
    """
    shares = shares_found(run, step, domain, users, seed, on_done)
    return bootstrap_mean(shares) if shares else None


def shares_found(
    run: Path, step: int, domain: str, users: int, seed: int = 0, on_done: Callable[[int], None] = lambda done: None
) -> dict[str, list[float]]:
    """Artifact → the share of its user's hidden intents, as in `found`: two models are compared user by user."""
    name, builder = checkpoints(run)[step], engine(domain).builder
    shares: dict[str, list[float]] = {}
    for place in range(users):
        artifact = generate_artifact(domain, "eval", place)
        talk = _conversation_at(run, step, name, domain, builder.build(artifact).tree, seed, MAX_TURNS)
        if (share := share_discovered(talk)) is not None:
            shares[artifact.id] = [share]
        on_done(place + 1)
    return shares


def replies(names: Mapping[str, str], domain: str, messages: Sequence[Message], seed: int) -> dict[str, Reply]:
    """The reply of each assistant, by its label in `names`."""
    return _of_each(names, partial(_reply, domain, tuple(messages), seed))


def conversations(
    names: Mapping[str, str], domain: str, tree: IntentTree, seed: int, turns: int = MAX_TURNS
) -> dict[str, Conversation]:
    """A conversation of each assistant with the same simulated user of the miniature, by its label in `names`."""
    return _of_each(names, partial(_conversation, domain, tree, seed, turns))


def _conversation_at(
    run: Path, step: int, name: str, domain: str, tree: IntentTree, seed: int, turns: int
) -> Conversation:
    """The conversation with one checkpoint, from the run's folder if it is there."""
    key = digest([tree.to_dict(), domain, seed, turns])
    path = run / FOLLOWED / key / f"step-{step}.json"
    if not path.exists():
        talk = conversations({"": name}, domain, tree, seed, turns)[""]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, talk.to_dict())
    return Conversation.from_dict(read_json(path))


def _of_each(names: Mapping[str, str], ask: Callable[[str], Result]) -> dict[str, Result]:
    results: list[Result] = []
    work(list(names.values()), ask, results.append, Processes(1, fresh=True, chunk=1) if on_gpu() else Workers())
    return dict(zip(names, results, strict=True))


def _reply(domain: str, messages: tuple[Message, ...], seed: int, name: str) -> Reply:
    return local_assistant(name, domain).reply(messages, seed)


def _conversation(domain: str, tree: IntentTree, seed: int, turns: int, name: str) -> Conversation:
    world, assistant, setting = engine(domain), local_assistant(name, domain), {"domain": domain}
    return run_conversation(tree, world.judge, world.voice, [assistant], seed=seed, turns=turns, setting=setting)
