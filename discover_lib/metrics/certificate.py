"""The certificate of a simulated user: relations that must hold between scripted assistants, each tested.

For each relation of an order that can be argued for beforehand a paired difference over artifacts says whether it is
held, violated or not distinguishable.  Two more relations are reported and not required: whether adaptive finds more
than draft, which is the paper's own thesis and no condition of a sound user, and whether it finds more than a list that
ignores the user.  `discover_lib.tasks.certify` runs the assistants and says who vouches for a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.discovery import share_discovered
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean

FORMAT = "discover-certificate/1"
USER_BLIND = "catalogue"  # names every value in every turn and ignores the user
PANEL = ("silent", "random", "ask", "options", "draft", "adaptive", "mixed", "oracle", USER_BLIND)
TOLERANCE = 0.02  # of the hidden intents: two shares that differ by less count as the same
ENOUGH = 5  # fewer artifacts certify no user

Kind = Literal["above", "not below", "nothing"]
Holds = Literal["held", "violated", "not distinguishable"]
Result = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Relation(Record, omit=("reported",)):
    """One relation that a sound simulator shows, or one that is only looked at.

    Attributes:
        kind: `better` finds more than `worse` ("above"), at most `TOLERANCE` less ("not below"), or, with no `worse`,
            at most `TOLERANCE` at all ("nothing").
        why: the argument for it, without having seen a number.
        reported: told with the others, and no part of the result.
    """

    better: str
    kind: Kind
    worse: str
    why: str
    reported: bool = False

    @property
    def text(self) -> str:
        return {
            "above": f"{self.better} above {self.worse}",
            "not below": f"{self.better} not below {self.worse}",
            "nothing": f"{self.better} finds nothing",
        }[self.kind]


_KNOWS = "the oracle is shown the intents and builds them; a judge that does not see this cannot see discovery at all"
RELATIONS = (
    Relation("silent", "nothing", "", "a reply that shows and asks nothing cannot help anybody discover anything"),
    *(Relation("oracle", "above", other, _KNOWS) for other in PANEL if other not in ("oracle", USER_BLIND)),
    Relation("draft", "above", "silent", "a whole draft shows a value of every aspect; some of them must hit"),
    Relation("options", "above", "silent", "alternatives named aloud are concrete, so some of them must hit"),
    Relation("draft", "above", "ask", "a bare question names no value, and a user cannot answer what they do not know"),
    Relation("adaptive", "above", "random", "it hears what the user says; the random one does the same things, deaf"),
    Relation("adaptive", "above", "ask", "it shows values where the other only asks for them"),
    Relation("mixed", "not below", "draft", "it shows the same draft and samples beside it; length costs nothing here"),
    Relation(
        "adaptive",
        "above",
        "draft",
        "the paper's thesis: samples help while the user is vague",
        reported=True,
    ),
    Relation(
        "adaptive",
        "above",
        USER_BLIND,
        "it listens, and the other names every value",
        reported=True,
    ),
)


@dataclass(frozen=True)
class Tested(Record):
    """One relation, tested: `difference` is the paired one over artifacts, or the share discovered ("nothing")."""

    relation: Relation
    difference: Estimate
    holds: Holds


@dataclass(frozen=True)
class Certificate(Record, derived=("result", "line", "reported_line")):
    """What the panel said about a simulator.

    Attributes:
        subject: the certified user: engine, rules, prompts, code version (plain values), as a run records them.
        found: assistant → share of the hidden intents that it helped to discover.
        domains: of the certified user's artifacts; () in older certificates.
    """

    subject: Mapping[str, Any]
    found: Mapping[str, Estimate]
    tested: tuple[Tested, ...]
    artifacts: int
    trials: int
    turns: int
    seed: int
    domains: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[Tested, ...]:
        """What the result rests on."""
        return tuple(each for each in self.tested if not each.relation.reported)

    @property
    def reported(self) -> tuple[Tested, ...]:
        return tuple(each for each in self.tested if each.relation.reported)

    @property
    def result(self) -> Result:
        """Failed if a required relation is violated, passed if all of them are held, else undecided."""
        if any(each.holds == "violated" for each in self.required):
            return "failed"
        enough = self.artifacts >= ENOUGH and all(each.holds == "held" for each in self.required)
        return "passed" if enough else "undecided"

    @property
    def line(self) -> str:
        """The result in one sentence."""
        size = f"{len(self.found)} scripted assistants, n = {self.artifacts} artifacts"
        if self.result == "passed":
            return f"all {len(self.required)} required relations hold ({size})"
        wanted = "violated" if self.result == "failed" else "not distinguishable"
        named = [each.relation.text for each in self.required if each.holds == wanted]
        if not named:
            return f"the panel is too small to certify anything: {size}, at least {ENOUGH} are needed"
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        more += "; more artifacts may decide it" if self.result == "undecided" else ""
        return f"{wanted}: {', '.join(named[:3])}{more} ({size})"

    @property
    def reported_line(self) -> str:
        """What was looked at beside, in one sentence; "" in a certificate of before."""
        told = ", ".join(f"{each.relation.text}: {each.holds}" for each in self.reported)
        return f"reported, not required: {told}" if told else ""

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT} | super().to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        if data.get("format") != FORMAT:
            raise DiscoverError(f"not a certificate of this version: format is {data.get('format')!r}, not {FORMAT!r}")
        return super().from_dict({name: value for name, value in data.items() if name != "format"})


def certified(
    conversations: Iterable[Conversation],
    subject: Mapping[str, Any],
    *,
    relations: Sequence[Relation] = RELATIONS,
    seed: int = 0,
    domains: Iterable[str] = (),
) -> Certificate:
    """Test the relations on conversations of the panel, run from identical states.

    Raises:
        DiscoverError: an assistant of a relation is missing, or did not meet the same artifacts as the others.
    """
    shares: dict[str, dict[str, list[float]]] = {}
    turns = trials = 0
    for each in conversations:
        [name] = dict.fromkeys(each.setting["assistants"])
        shares.setdefault(name, {}).setdefault(each.setting["artifact"], []).append(share_discovered(each) or 0.0)
        turns, trials = max(turns, len(each.turns)), max(trials, each.setting["trial"] + 1)
    wanted = dict.fromkeys(name for each in relations for name in (each.better, each.worse) if name)
    if missing := [name for name in wanted if name not in shares]:
        raise DiscoverError(f"no conversations of {', '.join(missing)}; a certificate needs the whole panel")
    in_order = sorted(shares, key=lambda name: (PANEL.index(name) if name in PANEL else len(PANEL), name))
    estimates = {name: bootstrap_mean(shares[name], seed) for name in in_order}
    try:
        tested = tuple(_test(each, shares, seed) for each in relations)
    except ValueError as error:
        raise DiscoverError(f"the panel was not run on the same artifacts: {error}") from None
    artifacts = len(next(iter(shares.values())))
    return Certificate(dict(subject), estimates, tested, artifacts, trials, turns, seed, tuple(sorted(domains)))


def _test(relation: Relation, shares: Mapping[str, Mapping[str, Sequence[float]]], seed: int) -> Tested:
    if relation.kind == "nothing":
        estimate = bootstrap_mean(shares[relation.better], seed)
        return Tested(relation, estimate, _verdict(estimate, "nothing"))
    difference = bootstrap_difference(shares[relation.better], shares[relation.worse], seed)
    return Tested(relation, difference, _verdict(difference, relation.kind))


def _verdict(estimate: Estimate, kind: Kind) -> Holds:
    """Whether the interval is on the right side of the bound, on the wrong side, or across it."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:  # one artifact
        return "not distinguishable"
    if kind == "nothing":
        return "held" if high <= TOLERANCE else "violated" if low > TOLERANCE else "not distinguishable"
    bound = 0.0 if kind == "above" else -TOLERANCE
    return "held" if low > bound else "violated" if high < bound else "not distinguishable"
