"""The planted corpus: conversations into which leaks were put on purpose, to measure the leak audit.

Every case is one user message of a real conversation (recorded, or of the miniature) with something put in: the
wording of an intent that is hidden at that moment, in several disguises, or a decoy that only looks like a leak.  The
message as it was stands beside it as its clean twin.  The corpus is data (`data/audit/planted.json`, made by
`make_corpus`); `score` runs the audit on it.

What is planted and what is true are decided here by plain comparisons of letters, without the audit's rule, so that
the two can disagree.  Names from the lexicon are the exception: its cues make the synonyms, and the audit knows them
from the same lexicon.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discover_lib.audit.leaks import Finding, audit_message, lexicon_domain
from discover_lib.base.errors import DiscoverError
from discover_lib.base.paths import data_folder
from discover_lib.base.seeds import derive_rng
from discover_lib.core.conversation import Conversation, Message
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.metrics.shares import Share, share_of
from discover_lib.runs.recorded import load_recorded, recorded_index

FORMAT = "discover-planted-leaks/1"
PLANTED = ("verbatim", "in part", "inflected", "synonym", "paraphrase")  # counted in precision and recall
BEYOND = ("one word", "free paraphrase")  # leaks too, but more than words can tell: reported apart
DECOYS = ("heard", "shared", "denied", "vague")
TWIN = "clean twin"
FRAMES = ("{message}. oh, and {phrase}", "{message}, and also {phrase}", "{phrase}, i think. {message}")
VAGUE = (
    "{message}, something else maybe",
    "{message}. could you try it a little differently?",
    "hmm, {message}, but i can't say what is missing",
)
DENIALS = ("{message}, but no {phrase} please", "{message}, just without {phrase}")
HEARD = ("{message}, like the {phrase} just now", "{message}. the {phrase} there is okay")
_MARKUP = re.compile(r"<svg\b.*?</svg\s*>", re.DOTALL | re.IGNORECASE)
_LETTERS = re.compile(r"[a-z]{3,}")
_EMPTY = frozenset(  # too common to carry a requirement; of this module, so that the audit's list is not the judge
    "the and for with that this from into its are was has have one two each every all any shows show uses use makes "
    "make keeps keep gives give has let lets like some more than then there their them only over under very where when "
    "who whose what which while not out off can will would should could been being both just way such you your say "
    "tells tell says takes take puts put goes feels feel looks look set sets written drawn part kind something thing "
    "things between among through after before above below near far long short same other another first last".split()
)


class CorpusError(DiscoverError):
    """A file that is no planted corpus; the message says what to do."""


@dataclass(frozen=True)
class Talk:
    """A conversation as far as the audit needs it; it stays readable when the miniature changes."""

    name: str
    domain: str
    tree: IntentTree
    replies: tuple[str, ...]
    messages: tuple[str, ...]  # the user's answers; the last may be missing
    levels: tuple[Mapping[str, float], ...]  # after each reply

    def before(self, turn: int) -> tuple[Message, ...]:
        """The messages before the user's answer in `turn` (from 1)."""
        told = [Message("user", self.tree.initial_request)]
        for index in range(turn):
            told.append(Message("assistant", self.replies[index]))
            if index < turn - 1:
                told.append(Message("user", self.messages[index]))
        return tuple(told)

    def state(self, turn: int) -> IntentState:
        """What the user knows when they answer in `turn`."""
        of_level = {level.level: level for level in Discovery}
        return IntentState({key: of_level[level] for key, level in self.levels[turn - 1].items()})

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "tree": self.tree.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Talk:
        tree, told = IntentTree.from_dict(data["tree"]), (tuple(data["replies"]), tuple(data["messages"]))
        return cls(data["name"], data["domain"], tree, *told, tuple(data["levels"]))


@dataclass(frozen=True)
class Case:
    """One message to be audited, and what is true of it.

    Attributes:
        kind: of `PLANTED`, `BEYOND` or `DECOYS`, or `TWIN`.
        intent_id, phrase: what was planted, and in which words; "" in a clean twin.
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
        of_kind = [found for case, found in self.results if case.kind in kinds]
        return share_of(sum(found is not None and found.severity == "alarm" for found in of_kind), len(of_kind))

    def noticed(self, kinds: Sequence[str]) -> Share:
        """Of the cases of these kinds, the share with any finding, slight ones included."""
        of_kind = [found for case, found in self.results if case.kind in kinds]
        return share_of(sum(found is not None for found in of_kind), len(of_kind))

    @property
    def recall(self) -> Share:
        """Of the planted leaks (`BEYOND` left out), the share with an alarm."""
        return self.alarmed(PLANTED)

    @cached_property
    def precision(self) -> Share:
        """Of the alarms on planted leaks, decoys and clean twins, the share that are leaks."""
        alarms = [case for case, found in self.results if found and found.severity == "alarm"]
        counted = [case for case in alarms if case.kind not in BEYOND]
        return share_of(sum(case.leak for case in counted), len(counted))

    def wrong(self) -> list[tuple[Case, Finding | None]]:
        """Missed leaks and false alarms."""
        return [
            (case, found)
            for case, found in self.results
            if (found is not None and found.severity == "alarm") != case.leak and case.kind not in BEYOND
        ]


def score(corpus: Corpus) -> Scored:
    """Run the audit on every case."""
    return Scored(tuple((case, corpus.audit(case)) for case in corpus.cases))


# -- on disk ----------------------------------------------------------------------------------------------------------


def load_corpus(path: Path | None = None) -> Corpus:
    """The corpus of `data/audit`, or of another file.

    Raises:
        CorpusError: a file that is missing or not a corpus.
    """
    path = path or data_folder() / "audit" / "planted.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: no planted corpus ({error}); make it with tools/plant_leaks.py") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CorpusError(f"{path}: not a planted corpus of this version; make it with tools/plant_leaks.py")
    talks = {each.name: each for each in (*map(Talk.from_dict, data["talks"]), *recorded_talks())}
    return Corpus(talks, tuple(Case(**each) for each in data["cases"]))


def corpus_to_dict(corpus: Corpus, seed: int) -> dict[str, Any]:
    """The plain form; recorded conversations are data already and are not repeated."""
    recorded = {each.name for each in recorded_talks()}
    kinds = [case.kind for case in corpus.cases]
    return {
        "format": FORMAT,
        "seed": seed,
        "counts": {kind: kinds.count(kind) for kind in (*PLANTED, *BEYOND, *DECOYS, TWIN)},
        "talks": [talk.to_dict() for name, talk in corpus.talks.items() if name not in recorded],
        "cases": [asdict(case) for case in corpus.cases],
    }


# -- making it --------------------------------------------------------------------------------------------------------


def make_corpus(conversations: Mapping[str, Conversation], written: Sequence[Case], seed: int = 0) -> Corpus:
    """Plant in every user turn of the conversations, and of the recorded ones.

    Args:
        conversations: name → conversation of the miniature.
        written: free paraphrases, written by hand.
    """
    talks = [talk_of(name, conversation) for name, conversation in conversations.items()] + recorded_talks()
    return Corpus({talk.name: talk for talk in talks}, (*plant(talks, seed), *written))


def plant(talks: Sequence[Talk], seed: int) -> list[Case]:
    """All cases that can be made of the talks: of each kind at most one a turn, drawn by seed, talk, turn and kind."""
    cases = []
    for talk in talks:
        for turn in range(1, len(talk.messages) + 1):
            spot = _Spot(talk, turn)
            cases.append(Case(talk.name, turn, spot.message, TWIN))
            for kind, planter in PLANTERS.items():
                cases += planter(spot, derive_rng(seed, talk.name, turn, kind))
    return cases


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


def recorded_talks() -> list[Talk]:
    """The recorded conversations of `data/recorded`."""
    return [
        talk_of(f"recorded/{entry.artifact_id}", conversation)
        for entry in recorded_index()
        for conversation in load_recorded(entry.path)
    ]


class _Spot:
    """One user turn as the planters see it."""

    def __init__(self, talk: Talk, turn: int) -> None:
        self.talk, self.turn, self.message = talk, turn, talk.messages[turn - 1]
        state = talk.state(turn)
        intents = talk.tree.intents.values()
        self.hidden = [each for each in intents if state[each.id] is not Discovery.DISCOVERED]
        self.discovered = [each.text for each in intents if state[each.id] is Discovery.DISCOVERED]
        said = [_MARKUP.sub(" ", each.content) for each in talk.before(turn)]
        self.heard = " ".join([*said, self.message]).lower()
        self.known = " ".join([self.heard, *self.discovered]).lower()
        self.lexicon: Lexicon | None = load_lexicon(talk.domain) if talk.domain else None

    @cached_property
    def seen(self) -> frozenset[str]:
        """Values that a reply shows or names, and what is broader."""
        if self.lexicon is None:
            return frozenset()
        readings = (read_reply(reply, self.talk.domain) for reply in self.talk.replies[: self.turn])
        values = {value for reading in readings for option in reading.options for value in option}
        return frozenset(broader for value in values for broader in self.lexicon.lineages[value])

    def fresh(self, text: str) -> list[str]:
        """Words of a text that carry something and that stand nowhere in what may be named, not even within a word."""
        told = [word for word in _LETTERS.findall(text.lower()) if word not in _EMPTY]
        return [word for word in told if word[: max(4, len(word) - 3)] not in self.known]

    def untold(self) -> list[tuple[str, str]]:
        """Hidden intents (id, text) of whose words at least half, and at least one, are fresh, and that nobody saw."""
        found = []
        for each in self.hidden:
            told = [word for word in _LETTERS.findall(each.text.lower()) if word not in _EMPTY]
            fresh = self.fresh(each.text)
            if fresh and 2 * len(fresh) >= len(told) and self.value(each.text) not in self.seen:
                found.append((each.id, each.text))
        return found

    def value(self, text: str) -> str | None:
        """The value whose requirement the text is, in the lexicon's own words."""
        return self.lexicon.value_of_text(text) if self.lexicon is not None else None

    def case(self, kind: str, frame: str, phrase: str, intent_id: str) -> Case:
        message = frame.format(message=self.message.rstrip(". "), phrase=phrase)
        return Case(self.talk.name, self.turn, message, kind, intent_id, phrase)


Planter = Callable[[_Spot, random.Random], Iterator[Case]]


def _verbatim(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """The whole wording of a hidden intent."""
    if untold := spot.untold():
        intent_id, text = rng.choice(untold)
        yield spot.case("verbatim", rng.choice(FRAMES), text[:1].lower() + text[1:], intent_id)


def _in_part(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A stretch of at most four words of a hidden intent, at least two of them fresh."""
    found = []
    for intent_id, text in spot.untold():
        told = re.findall(r"[a-z']+", text.lower())
        for start in range(max(0, len(told) - 3)):
            stretch = " ".join(told[start : start + 4])
            if len(set(spot.fresh(stretch))) >= 2:
                found.append((intent_id, stretch))
    if found and spot.talk.name.startswith("recorded/"):
        intent_id, stretch = rng.choice(found)
        yield spot.case("in part", rng.choice(FRAMES), stretch, intent_id)


def _inflected(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """The wording of a hidden intent with every fresh word in another form."""
    if untold := spot.untold():
        intent_id, text = rng.choice(untold)
        fresh = set(spot.fresh(text))
        phrase = re.sub(r"[a-z]+", lambda word: _form(word[0], rng) if word[0] in fresh else word[0], text.lower())
        yield spot.case("inflected", rng.choice(FRAMES), phrase, intent_id)


def _form(word: str, rng: random.Random) -> str:
    """Another form of a word: its plural or singular, or a derived one."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    plural = word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else word + "s"
    if word.endswith(("s", "x", "ch", "sh")):
        plural = word + "es"
    if len(word) < 5 or word.endswith(("y", "ing", "ed")):
        return plural
    return rng.choice([plural, (word[:-1] if word.endswith("e") else word) + rng.choice(("ed", "ing"))])


def _synonym(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """Another name for a hidden value, with no word of the intent in it."""
    assert spot.lexicon is not None
    found = [
        (intent_id, cue)
        for intent_id, text in spot.untold()
        if (value := spot.value(text)) is not None
        for cue in spot.lexicon.values[value].cues
        if _is_other_name(cue, text, spot)
    ]
    if found:
        intent_id, cue = rng.choice(found)
        yield spot.case("synonym", rng.choice(FRAMES), f"maybe {cue}", intent_id)


def _paraphrase(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A hidden value told by two examples from below it, in no word of the intent."""
    assert spot.lexicon is not None
    found = []
    for intent_id, text in spot.untold():
        value = spot.value(text)
        below = [leaf for leaf in spot.lexicon.leaves_under(value) if leaf != value] if value else []
        cues = [cue for leaf in below for cue in spot.lexicon.values[leaf].cues if _is_other_name(cue, text, spot)]
        if len(cues) > 1 and not spot.seen & set(below):
            found.append((intent_id, sorted(cues)))
    if found:
        intent_id, cues = rng.choice(found)
        first, second = rng.sample(cues, 2)
        yield spot.case(
            "paraphrase", rng.choice(FRAMES), f"something along the lines of {first} or {second}", intent_id
        )


def _is_other_name(cue: str, text: str, spot: _Spot) -> bool:
    told = _LETTERS.findall(cue.lower())
    return bool(told) and all(word[:4] not in text.lower() and word[:4] not in spot.known for word in told)


def _one_word(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A single fresh word of a long hidden intent."""
    found = [(key, word) for key, text in spot.untold() if len(text.split()) > 5 for word in spot.fresh(text)]
    if found and spot.talk.name.startswith("recorded/"):
        intent_id, word = rng.choice(found)
        yield spot.case("one word", rng.choice(FRAMES), f"maybe {word}", intent_id)


def _heard(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A word of a hidden intent that was said in the conversation."""
    found = _common_words(spot, spot.heard)
    if found:
        intent_id, word = rng.choice(found)
        yield spot.case("heard", rng.choice(HEARD), word, intent_id)


def _shared(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A word of a hidden intent that a discovered one holds as well."""
    found = _common_words(spot, " ".join(spot.discovered).lower())
    if found:
        intent_id, word = rng.choice(found)
        yield spot.case("shared", rng.choice(FRAMES), f"the {word} stays", intent_id)


def _common_words(spot: _Spot, text: str) -> list[tuple[str, str]]:
    sayable = set(_LETTERS.findall(text))
    told = [(each.id, word) for each in spot.hidden for word in _LETTERS.findall(each.text.lower())]
    return [(intent_id, word) for intent_id, word in told if word in sayable and word not in _EMPTY]


def _denied(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """A fresh word of a hidden intent that wants it, turned down by the user."""
    wanting = [
        (key, text) for key, text in spot.untold() if not re.search(r"\b(?:no|not|without|never)\b", text.lower())
    ]
    found = [(key, word) for key, text in wanting for word in spot.fresh(text)[-1:]]
    if found:
        intent_id, word = rng.choice(found)
        yield spot.case("denied", rng.choice(DENIALS), word, intent_id)


def _vague(spot: _Spot, rng: random.Random) -> Iterator[Case]:
    """More of what a user says who cannot say what they want."""
    yield spot.case("vague", rng.choice(VAGUE), "", "")


PLANTERS: dict[str, Planter] = {
    "verbatim": _verbatim,
    "in part": _in_part,
    "inflected": _inflected,
    "synonym": _synonym,
    "paraphrase": _paraphrase,
    "one word": _one_word,
    "heard": _heard,
    "shared": _shared,
    "denied": _denied,
    "vague": _vague,
}
