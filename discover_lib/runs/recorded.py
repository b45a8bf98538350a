"""Recorded conversations: trees, replies and judgements of a capable model, to step through without a key.

Each file under `data/recorded/<domain>/` holds one artifact and the stages that led to its tree.  Most files also have
a session of five turns with two candidate replies each.  The file gives judgements and messages.  States, rewards and
views are computed from them by the library's own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, read_json
from discover_lib.core.advance import finished, focus, initial_state
from discover_lib.core.conversation import Artifact, Conversation, Message, Reply, Turn
from discover_lib.core.intents import IntentTree, TreeError
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import score_candidate
from discover_lib.core.state import Evaluation
from discover_lib.core.view import leaked_words, user_view

COUNTING = "words × 4/3, rounded"
RULES = Rules.paper().replace(token_unit="words × 4/3")
NOTE = "recorded: one capable model wrote the tree, the replies and the judgements; an illustration, not evidence"


class RecordedError(DiscoverError):
    """A recorded file that is missing or cannot be read.  The message names it and the remedy."""


@dataclass(frozen=True)
class Recorded:
    """One file of `data/recorded`: an artifact, its tree and the sessions recorded with it."""

    path: Path
    domain: str
    artifact_id: str
    title: str
    topic: str
    sessions: tuple[str, ...]  # ids; empty where only the tree was recorded

    @property
    def name(self) -> str:
        """`domain/artifact id`, which `load_recorded` takes."""
        return f"{self.domain}/{self.artifact_id}"

    def artifact(self) -> Artifact:
        data = read_json(self.path, RecordedError)["artifact"]
        return Artifact(data["id"], data["type"], data["text"], data["topic"], self.domain)

    def tree(self) -> IntentTree:
        return _tree(read_json(self.path, RecordedError), self.path)


def recorded_index(folder: Path | None = None) -> list[Recorded]:
    """What is recorded, sorted by domain and artifact; empty if the folder is not there."""
    return [_entry(path) for path in sorted((folder or data_folder() / "recorded").glob("*/*.json"))]


def find_recorded(name: str, folder: Path | None = None) -> Recorded:
    """The entry called `name`: an artifact id, or `domain/artifact id`.

    Raises:
        RecordedError: no entry, or more than one, has this name.
    """
    index = recorded_index(folder)
    entries = [entry for entry in index if name in (entry.name, entry.artifact_id)]
    if len(entries) != 1:
        choices = ", ".join(entry.artifact_id for entry in index) or "no file; is the data folder missing?"
        raise RecordedError(f"{len(entries)} recorded artifacts are called {name!r}; there is: {choices}")
    return entries[0]


def load_recorded(source: Path | str, folder: Path | None = None) -> list[Conversation]:
    """The conversations of one recorded file, given by path or by name; an empty list where only a tree is recorded.

    Raises:
        RecordedError: no such file or name, or a file that is not of the recorded form.
    """
    entry = _entry(source) if isinstance(source, Path) else find_recorded(source, folder)
    data = read_json(entry.path, RecordedError)
    tree = _tree(data, entry.path)
    try:
        return [_conversation(tree, session, entry) for session in data["sessions"]]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise RecordedError(f"{entry.path}: not a recorded session ({type(error).__name__}: {error})") from error


def _tree(data: Mapping[str, Any], path: Path) -> IntentTree:
    try:
        return IntentTree.from_dict(data["tree"])
    except (KeyError, TreeError) as error:
        raise RecordedError(f"{path}: no valid tree under 'tree' ({error})") from None


def _entry(path: Path) -> Recorded:
    data = read_json(path, RecordedError)
    try:
        artifact_id, topic = data["artifact"]["id"], data["artifact"]["topic"]
        sessions = tuple(session["id"] for session in data["sessions"])
    except (KeyError, TypeError) as error:
        raise RecordedError(f"{path}: not a recorded artifact (missing {error})") from None
    title = artifact_id.replace("_", " ").replace("-", " ")
    return Recorded(path, path.parent.name, artifact_id, title, topic, sessions)


def _conversation(tree: IntentTree, session: Mapping[str, Any], entry: Recorded) -> Conversation:
    start = state = initial_state(tree, RULES, thresholds=session["thresholds"])
    messages = [Message("user", tree.initial_request)]
    turns: list[Turn] = []
    for index, data in enumerate(session["turns"], start=1):
        candidates = tuple(
            score_candidate(
                tree,
                state,
                Reply(each["text"], each["tokens"], COUNTING, each["assistant"]),
                Evaluation.from_dict(each["evaluation"]),
                RULES,
            )
            for each in data["candidates"]
        )
        chosen = candidates[data["chosen"]]
        assert chosen.evaluation is not None
        reasons = {verdict.intent_id: verdict.reason for verdict in chosen.evaluation.verdicts}
        view = user_view(tree, chosen.after, RULES, reasons, chosen.transitions)
        messages.append(Message("assistant", chosen.reply.text))
        user_message = data["user_message"]
        leaks = leaked_words(user_message, tree, chosen.after, [each.content for each in messages])
        turns.append(
            Turn(index, state, candidates, data["chosen"], focus(tree, state, RULES), view, user_message, leaks),
        )
        messages.append(Message("user", user_message))
        state = chosen.after
    setting = {
        "engine": "recorded",
        "domain": entry.domain,
        "artifact": entry.artifact_id,
        "session": session["id"],
        "assistants": [each["assistant"] for each in session["turns"][0]["candidates"]],
        "note": NOTE,
    }
    stop = finished(tree, state, RULES) or "max_turns"
    return Conversation(tree, RULES, 0, start, tuple(turns), stop, setting)
