"""`discover://` ids: one line for a conversation of a run, one of its turns, or an intent in it.

    discover://RUN/ARTIFACT/ASSISTANTS/TRIAL/TURN/INTENT

Parts can be left out from the end, and `*` stands for all of a kind: `discover://evaluation/*/adaptive` names all
conversations of `adaptive`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any
from urllib.parse import quote, unquote

from discover_lib.base.errors import DiscoverError

SCHEME = "discover://"
FORM = f"{SCHEME}RUN/ARTIFACT/ASSISTANTS/TRIAL/TURN/INTENT"
ANY = "*"
HALVES = "surrogatepass"  # half a character, which a model can cut, is written as it is
PATH = ("run", "artifact", "assistants", "trial", "turn", "intent")


@dataclass(frozen=True)
class DiscoverId:
    """One conversation, turn or intent of a run, or all that share the given parts.

    Attributes:
        run: its folder below the outputs folder, or its path.
        assistants: joined by "+", as tables name them.
        turn: from 1.
    """

    run: str
    artifact: str | None = None
    assistants: str | None = None
    trial: int | None = None
    turn: int | None = None
    intent: str | None = None

    def __str__(self) -> str:
        parts = [*astuple(self)]
        while parts[-1] is None:
            parts.pop()
        return SCHEME + "/".join(ANY if each is None else quote(str(each), safe="", errors=HALVES) for each in parts)

    @classmethod
    def parse(cls, text: str) -> DiscoverId:
        """
        Raises:
            DiscoverError: it is not of this form.
        """
        parts = [None if part == ANY else unquote(part) for part in text.removeprefix(SCHEME).split("/")]
        values: dict[str, Any] = dict(zip(PATH, parts, strict=False))
        numbers = {name: values[name] for name in ("trial", "turn") if values.get(name) is not None}
        is_id = text.startswith(SCHEME) and len(parts) <= len(PATH) and "" not in parts and parts[0] is not None
        if not is_id or not all(each.isascii() and each.isdigit() for each in numbers.values()):
            raise DiscoverError(f"invalid id {text!r}; write {FORM}, * for all values of a part, %2F for a slash")
        return cls(**values | {name: int(each) for name, each in numbers.items()})
