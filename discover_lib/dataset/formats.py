"""Files that others can read: conversations as JSON lines and as a table, and how a foreign file is read with care.

`Place` walks a JSON file and knows where it stands, so that what is wrong is said in one line naming file and field.
The formats of the authors' code are in `discover_lib.dataset.authors`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.state import Discovery
from discover_lib.runs.units import write_lines

if TYPE_CHECKING:
    import pandas

MAX_BYTES = 1_000_000_000  # of one file to be read whole


class FormatError(DiscoverError):
    """A file that is not of the form it should have; the message is one line naming the file and the field."""


@dataclass(frozen=True)
class Place:
    """A value in a JSON file, and where it stands there.  Every reader raises `FormatError` on anything else."""

    value: Any
    file: str
    path: str = ""

    def wrong(self, what: str) -> FormatError:
        return FormatError(f"{self.file}: {self.path or 'the file'} {what}")

    def __getitem__(self, name: str) -> Place:
        """A field that must be there."""
        if name not in self.object():
            raise self.wrong(f"has no {name!r}")
        return self._below(name)

    def get(self, name: str) -> Place | None:
        """A field that may be missing or null."""
        return None if self.object().get(name) is None else self._below(name)

    def _below(self, name: str) -> Place:
        return Place(self.value[name], self.file, f"{self.path}.{name}" if self.path else name)

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.wrong(f"must be an object, got {self.value!r:.60}")
        return self.value

    def items(self) -> list[Place]:
        if not isinstance(self.value, list):
            raise self.wrong(f"must be a list, got {self.value!r:.60}")
        return [Place(each, self.file, f"{self.path}[{index}]") for index, each in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong(f"must be text, got {self.value!r:.60}")
        return self.value

    def number(self) -> float:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(f"must be a number, got {value!r:.60}")
        return value

    def whole(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.wrong(f"must be a whole number, got {self.value!r:.60}")
        return self.value


def read_json(path: Path) -> Place:
    """A JSON file.

    Raises:
        FormatError: it is missing, too large, or no JSON.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path}: {path.stat().st_size / 1e9:.1f} GB is too large to read whole; at most 1 GB")
        return Place(json.loads(path.read_text(encoding="utf-8-sig")), str(path))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}: not JSON (line {error.lineno}: {error.msg})") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not UTF-8 text") from None
    except RecursionError:
        raise FormatError(f"{path}: nested too deep") from None


# -- JSON lines ----------------------------------------------------------------------------------------------------


def write_jsonl(path: Path, conversations: Iterable[Conversation]) -> None:
    """One whole conversation a line; the file appears complete or not at all."""
    write_lines(path, (each.to_dict() for each in conversations))


def read_jsonl(path: Path) -> Iterator[Conversation]:
    """The conversations of a file that `write_jsonl` wrote, one at a time.

    Raises:
        FormatError: naming the line that is no conversation.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _conversation(line, f"{path}: line {number}")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not UTF-8 text") from None


def _conversation(line: str, where: str) -> Conversation:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise FormatError(f"{where} is not JSON ({error})") from None
    try:
        return Conversation.from_dict(data)
    except KeyError as error:
        raise FormatError(f"{where} is no conversation: it has no {error}") from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise FormatError(f"{where} is no conversation ({type(error).__name__}: {error})") from None


# -- a table -------------------------------------------------------------------------------------------------------


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
