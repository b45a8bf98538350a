"""The planted corpus: conversations into which leaks were put on purpose, to measure the leak audit.

Every case is one user message of a real conversation (recorded, or of the miniature) with something put in: the
wording of an intent that is hidden at that moment, in several disguises, or a decoy that only looks like a leak.  The
original message is its clean twin.  The corpus is frozen data (`data/audit/planted.json`);
`score` runs the audit on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, read_json
from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation, Message
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.metrics.intervals import Share, share_of
from discover_lib.runs.recorded import load_recorded, recorded_index
from discover_lib.tasks.leaks import Finding, audit_message, lexicon_domain
from discover_lib.tasks.waist import Lines, Report, Table

FORMAT = "discover-planted-leaks/1"
PLANTED = ("verbatim", "in part", "inflected", "synonym", "paraphrase")  # counted in precision and recall
BEYOND = ("one word", "free paraphrase")  # leaks too, but more than words can tell: reported apart
DECOYS = ("heard", "shared", "denied", "vague")
TWIN = "clean twin"


@dataclass(frozen=True)
class Talk(Record):
    """A conversation as far as the audit needs it; it stays readable when the miniature changes."""

    name: str
    domain: str
    tree: IntentTree
    replies: tuple[str, ...]
    messages: tuple[str, ...]  # the user's answers; the last may be missing
    levels: tuple[Mapping[str, float], ...]  # after each reply

    def before(self, turn: int) -> tuple[Message, ...]:
        """The messages before the user's answer in `turn` (from 1)."""
        messages = [Message("user", self.tree.initial_request)]
        for index in range(turn):
            messages.append(Message("assistant", self.replies[index]))
            if index < turn - 1:
                messages.append(Message("user", self.messages[index]))
        return tuple(messages)

    def state(self, turn: int) -> IntentState:
        """What the user knows when they answer in `turn`."""
        of_level = {level.level: level for level in Discovery}
        return IntentState({key: of_level[level] for key, level in self.levels[turn - 1].items()})


@dataclass(frozen=True)
class Case:
    """One message to audit, with the true answer.

    Attributes:
        kind: of `PLANTED`, `BEYOND` or `DECOYS`, or `TWIN`.
        intent_id, phrase: the planted intent and its words; "" in a clean twin.
    """

    talk: str
    turn: int
    message: str
    kind: str
    intent_id: str = ""
    phrase: str = ""

    @property
    def leak(self) -> bool:
        return self.kind in PLANTED or self.kind in BEYOND


@dataclass(frozen=True)
class Corpus:
    """Conversations and cases."""

    talks: Mapping[str, Talk]
    cases: tuple[Case, ...]

    def audit(self, case: Case) -> Finding | None:
        """What the audit finds in a case."""
        talk = self.talks[case.talk]
        state, before = talk.state(case.turn), talk.before(case.turn)
        return audit_message(case.message, talk.tree, state, before, talk.domain)


@dataclass(frozen=True)
class Scored:
    """How the audit did on a corpus.  An alarm counts as found; a slight finding does not."""

    results: tuple[tuple[Case, Finding | None], ...]

    def alarmed(self, kinds: Sequence[str]) -> Share:
        """Of the cases of these kinds, the share with an alarm."""
        of_kind = [finding for case, finding in self.results if case.kind in kinds]
        return share_of(sum(finding is not None and finding.severity == "alarm" for finding in of_kind), len(of_kind))

    def noticed(self, kinds: Sequence[str]) -> Share:
        """Of the cases of these kinds, the share with any finding, slight ones included."""
        of_kind = [finding for case, finding in self.results if case.kind in kinds]
        return share_of(sum(finding is not None for finding in of_kind), len(of_kind))

    @property
    def recall(self) -> Share:
        """Of the planted leaks (`BEYOND` left out), the share with an alarm."""
        return self.alarmed(PLANTED)

    @cached_property
    def precision(self) -> Share:
        """Of the alarms on planted leaks, decoys and clean twins, the share that are leaks."""
        alarms = [case for case, finding in self.results if finding and finding.severity == "alarm"]
        counted = [case for case in alarms if case.kind not in BEYOND]
        return share_of(sum(case.leak for case in counted), len(counted))

    def wrong(self) -> list[tuple[Case, Finding | None]]:
        """Missed leaks and false alarms."""
        return [
            (case, finding)
            for case, finding in self.results
            if (finding is not None and finding.severity == "alarm") != case.leak and case.kind not in BEYOND
        ]


def score(corpus: Corpus) -> Scored:
    """Run the audit on every case."""
    return Scored(tuple((case, corpus.audit(case)) for case in corpus.cases))


def told(scored: Scored) -> Report:
    """Precision and recall, and the share with an alarm for every kind of message."""
    kinds = (*PLANTED, *BEYOND, *DECOYS, TWIN)
    line = f"planted leaks: precision {scored.precision}, recall {scored.recall}; 95% Wilson intervals"
    rows = tuple(
        (
            kind,
            "no" if kind not in PLANTED + BEYOND else "yes, counted apart" if kind in BEYOND else "yes",
            str(scored.alarmed((kind,))),
            str(scored.noticed((kind,))),
        )
        for kind in kinds
    )
    title = "alarms by the kind of planted words"
    plain = {
        "precision": vars(scored.precision),
        "recall": vars(scored.recall),
        "by_kind": {kind: vars(scored.alarmed((kind,))) for kind in kinds},
    }
    return Report((Lines((line,)), Table(("kind", "a leak?", "alarm", "any finding"), rows, title)), plain)


# -- on disk ----------------------------------------------------------------------------------------------------------


def load_corpus(path: Path | None = None) -> Corpus:
    """The corpus of `data/audit`, or of another file.

    Raises:
        DiscoverError: a file that is missing or not a corpus.
    """
    path = path or data_folder() / "audit" / "planted.json"
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DiscoverError(f"{path}: not a planted corpus; restore it from the repository")
    recorded = [
        talk_of(f"recorded/{entry.artifact_id}", conversation)
        for entry in recorded_index()
        for conversation in load_recorded(entry.path)
    ]
    talks = {each.name: each for each in (*map(Talk.from_dict, data["talks"]), *recorded)}
    return Corpus(talks, tuple(Case(**each) for each in data["cases"]))


def talk_of(name: str, conversation: Conversation) -> Talk:
    turns = conversation.turns
    return Talk(
        name,
        lexicon_domain(conversation),
        conversation.tree,
        tuple(turn.reply.text for turn in turns),
        tuple(turn.user_message for turn in turns if turn.user_message is not None),
        tuple({key: turn.after[key].level for key in conversation.tree.intents} for turn in turns),
    )
