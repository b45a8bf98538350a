"""Files that others can read: conversations as JSON lines and as a table, and how a foreign file is read with care.

A foreign file is read into records, and a problem is one line that names the file and the field.  The
formats of the authors' code are in `discover_lib.dataset.authors_format`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, read_json_lines, read_text, write_lines
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery
from discover_lib.metrics.intervals import grouped
from discover_lib.metrics.scores import Assessment, scores_of

if TYPE_CHECKING:
    import pandas


class Foreign(msgspec.Struct):
    """The fields that are read of a foreign file, with their types; other fields are ignored."""


Model = TypeVar("Model")
Number = Annotated[float, msgspec.Meta(gt=-1e300, lt=1e300)]  # a finite one


def parse(model: type[Model], data: Any, file: str) -> Model:
    """A record from the plain data of a file.

    Raises:
        DiscoverError: a field is wrong; the message names the file, the field and its type.
    """
    try:
        return msgspec.convert(data, model, dec_hook=lambda kind, value: kind(value))  # paths
    except (msgspec.ValidationError, RecursionError) as error:
        raise DiscoverError(f"{file}: {error}") from None


# -- JSON lines -------------------------------------------------------------------------------------------------------


def write_jsonl(path: Path, conversations: Iterable[Conversation]) -> None:
    """One whole conversation a line; the file appears complete or not at all."""
    write_lines(path, (each.to_dict() for each in conversations))


@contextmanager
def library(what: str, name: str = "a library that is not installed", extra: str = "train") -> Iterator[None]:
    """Say in one line that `what` needs a missing library, which comes with an extra of this package."""
    try:
        yield
    except ImportError:
        raise DiscoverError(f"{what} needs {name}: pip install 'discover-lib[{extra}]'") from None


# -- a run of imported conversations ----------------------------------------------------------------------------------


def keep_run(
    folder: Path,
    talks: Sequence[Conversation],
    configuration: Mapping[str, Any],
    assessments: Sequence[Assessment | None] = (),
) -> int:
    """Keep conversations as a run in `folder`, in place of those that an earlier import left there; returns how many.

    Args:
        configuration: the run's configuration, with the rules of all conversations.
        assessments: of each conversation, where there are any.

    Raises:
        DiscoverError: they were had under several rules.
        StoreError: the folder holds something else.
    """
    from discover_lib.runs.store import RunStore, UnitRow, turn_row

    if other := next((talk for talk in talks if talk.rules.to_dict() != configuration["rules"]), None):
        raise DiscoverError(f"conversations under several rules ({other.rules.name}, ...) make no run")
    # Users are told apart by their tree: two runs of other code may have built different ones for an artifact.
    trees: dict[str, tuple[str, IntentTree]] = {}
    units = []
    for place, talk in enumerate(talks):
        artifact = str(talk.setting["artifact"])
        while trees.setdefault(artifact, (str(talk.setting.get("domain") or ""), talk.tree))[1] != talk.tree:
            artifact += "'"
        setting = {**talk.setting, "artifact": artifact}
        trial = setting["trial"] if isinstance(setting["trial"], int) else 0
        assistants = tuple(setting["assistants"])
        units.append(UnitRow(place, artifact, *trees[artifact], assistants, trial, talk.seed, setting))
    with RunStore.write(folder, configuration) as store, store.together():
        store.forget_plan()  # files that came or went since would shift the places of the others
        store.add_units(units)
        for place, talk in enumerate(talks):
            store.put_turns(place, list(map(turn_row, talk.turns)), talk.stop)
        for place, (talk, each) in enumerate(zip(talks, assessments, strict=False)):
            if each is not None:
                digest = scores_of(talk, place, each).digest()
                store.put_assessment(place, each.to_dict(), digest)
    return len(talks)


# -- a table ----------------------------------------------------------------------------------------------------------


def to_frame(conversations: Iterable[Conversation]) -> pandas.DataFrame:
    """One row per candidate reply, in order; `frame[frame.chosen]` is one row per turn.

    Rewards are NaN where a reply is unscored.  Counts of states are after the reply; `hidden` counts the intents that
    are neither discovered nor emerging.
    """
    import pandas

    rows = [
        {"conversation": number, **_about(talk), **_row(talk, turn, place, each)}
        for number, talk in enumerate(conversations)
        for turn in talk.turns
        for place, each in enumerate(turn.candidates)
    ]
    return pandas.DataFrame(rows)


def _about(talk: Conversation) -> dict[str, Any]:
    setting = talk.setting
    return {
        "artifact": setting.get("artifact", ""),
        "domain": setting.get("domain", ""),
        "assistants": "+".join(setting.get("assistants", ())),
        "trial": setting.get("trial", 0),
        "engine": setting.get("engine", ""),
        "rules": talk.rules.name,
        "seed": talk.seed,
        "stop": talk.stop or "open",
    }


def _row(talk: Conversation, turn: Turn, place: int, candidate: Candidate) -> dict[str, Any]:
    reward, judged, after = candidate.reward, candidate.evaluation, candidate.after
    chosen = place == turn.chosen
    levels = [after[intent_id] for intent_id in talk.tree.intents]
    return {
        "turn": turn.index,
        "candidate": place,
        "chosen": chosen,
        "assistant": candidate.reply.assistant,
        "kind": judged.kind if judged else "",
        "reward": reward.total if reward else math.nan,
        "reward_discovered": reward.discovered if reward else math.nan,
        "reward_length": reward.penalty if reward else math.nan,
        "tokens": candidate.reply.n_tokens,
        "counting": candidate.reply.counting,
        "discovered": levels.count(Discovery.DISCOVERED),
        "emerging": levels.count(Discovery.EMERGING),
        "hidden": levels.count(Discovery.UNDISCOVERED),
        "satisfied": len(after.satisfied),
        "text": candidate.reply.text,
        "user_message": (turn.user_message or "") if chosen else "",
        "leaks": " ".join(turn.leaks) if chosen else "",
        "error": candidate.error or "",
    }


# -- chats from other tools -------------------------------------------------------------------------------------------

# ShareGPT (`conversations` of `from` and `value`), WildChat and other lists or lines of `conversation` or `messages`
# with `role` and `content`, and a study's `messages.csv`.
FORMS = "ShareGPT exports, lines with conversation or messages, and a study's messages.csv are read"
_GUARD = re.compile(r"^'(?=[=+@-])")  # a study's export puts it before text that a spreadsheet would run
USER_ROLES = frozenset(("user", "human"))


def read_chats(path: Path) -> list[list[str]]:
    """The user's messages of every chat of a file that has any.

    Raises:
        DiscoverError: the file cannot be read, or holds no chat in a form that is known.
    """
    try:
        chats = [chat for chat in _chats(path) if chat]
    except (KeyError, TypeError, AttributeError, csv.Error):
        raise DiscoverError(f"{path}: no file of chats; {FORMS}") from None
    if not chats:
        raise DiscoverError(f"{path}: no chat found; {FORMS}")
    return chats


def _chats(path: Path) -> Iterable[list[str]]:
    if path.suffix == ".csv":
        return _study(csv.DictReader(io.StringIO(read_text(path), newline="")))
    if path.suffix == ".jsonl":
        return [_said(data) for data in read_json_lines(path)]
    whole = read_json(path)
    return [_said(item) for item in (whole if isinstance(whole, list) else [whole])]


def _said(item: Mapping[str, Any]) -> list[str]:
    """The user's messages of one chat, in any known form."""
    said = []
    for each in item.get("conversations") or item.get("conversation") or item.get("messages") or ():
        role, text = each.get("from") or each.get("role"), each.get("value") or each.get("content")
        if role in USER_ROLES and isinstance(text, str) and text.strip():
            said.append(text)
    return said


def _study(rows: Iterable[Mapping[str, str]]) -> Iterable[list[str]]:
    said = (row for row in rows if row["role"] == "user")
    return grouped(((row["participant"], row["place"]), _GUARD.sub("", row["text"])) for row in said).values()
