"""`discover://` ids: the origin of a number, in one line that goes with it into tables, files and reports.

    discover://RUN/ARTIFACT/ASSISTANTS/TRIAL/TURN/INTENT?measure=NAME

Parts can be left out from the end, and `*` stands for all of a kind: `discover://evaluation/*/adaptive?measure=reward`
is the mean reward of `adaptive` over all its conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from discover_lib.base.errors import DiscoverError

SCHEME = "discover://"
FORM = f"{SCHEME}RUN/ARTIFACT/ASSISTANTS/TRIAL/TURN/INTENT"
ANY = "*"
HALVES = "surrogatepass"  # half a character, which a model can cut, is written as it is
PATH = ("run", "artifact", "assistants", "trial", "turn", "intent")


class IdError(DiscoverError):
    """The text is not an id, or the id names no stored data; the message is one line."""


@dataclass(frozen=True)
class DiscoverId:
    """One conversation, turn or intent of a run, or all that share the given parts; with `measure` a number of them.

    Attributes:
        run: its folder below the outputs folder, or its path.
        assistants: joined by "+", as tables name them.
        turn: from 1.
        measure: the heading of a table's column, a column of `metrics.results.CSV_COLUMNS`, or another that
            `runs.evaluation` knows.
        against: the assistants that these are compared with on the same users.
        domain: conversations of this one alone.
        pool: who is compared in eq. 4 and on whose shared users means are taken; () for all of the run.
        leave_out: the leaves that do not count for satisfaction; "" counts all.
    """

    run: str
    artifact: str | None = None
    assistants: str | None = None
    trial: int | None = None
    turn: int | None = None
    intent: str | None = None
    measure: str = ""
    against: str = ""
    domain: str = ""
    pool: tuple[str, ...] = ()
    leave_out: str = ""

    def __str__(self) -> str:
        parts = [getattr(self, name) for name in PATH]
        while parts[-1] is None:
            parts.pop()
        path = "/".join(ANY if part is None else quote(str(part), safe="", errors=HALVES) for part in parts)
        query = urlencode({name: value for name in QUERY if (value := getattr(self, name))}, True, errors=HALVES)
        return f"{SCHEME}{path}{'?' if query else ''}{query}"

    @classmethod
    def parse(cls, text: str) -> DiscoverId:
        """
        Raises:
            IdError: it is not of this form, or a part of its query is unknown.
        """
        path, _, query = text.removeprefix(SCHEME).partition("?")
        parts = [None if part == ANY else unquote(part) for part in path.split("/")]
        values: dict[str, Any] = dict(zip(PATH, parts, strict=False))
        pairs = parse_qsl(query, keep_blank_values=True)
        values |= {name: value for name, value in pairs if name != "pool"}
        values["pool"] = tuple(value for name, value in pairs if name == "pool")
        if unknown := [name for name, _ in pairs if name not in QUERY]:
            raise IdError(f"invalid id {text!r}: unknown name {unknown[0]!r}; known are {', '.join(QUERY)}")
        numbers = [name for name in ("trial", "turn") if values.get(name) is not None]
        if (
            not text.startswith(SCHEME)
            or len(parts) > len(PATH)
            or "" in parts
            or parts[0] is None
            or not all(values[name].isascii() and values[name].isdigit() for name in numbers)
        ):
            raise IdError(f"invalid id {text!r}; write {FORM}, * for all, and %2F for a slash in a name")
        return cls(**values | {name: int(values[name]) for name in numbers})


@dataclass(frozen=True)
class LabelledId(DiscoverId):
    """An id in a report that calls assistants by labels; it is written with the names that the run has for them.

    Attributes:
        named: label → name in the run; others keep theirs.
    """

    named: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        given = {name: getattr(self, name) for name in (*PATH, *QUERY)}
        for part in ("assistants", "against"):
            given[part] = self.named.get(given[part], given[part])
        return str(DiscoverId(**given | {"pool": tuple(self.named.get(who, who) for who in self.pool)}))


QUERY = tuple(each.name for each in fields(DiscoverId) if each.name not in PATH)
