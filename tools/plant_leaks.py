"""Make the planted corpus of the leak audit anew: `data/audit/planted.json`.

    python tools/plant_leaks.py

It runs a few conversations of the miniature and plants leaks and decoys in them and in the recorded ones (see
`discover_lib.tasks.corpus`).  Free paraphrases are taken from `data/audit/free_paraphrases.json`.

What is planted and what is true are decided here by plain comparisons of letters, without the audit's rule, so that
the two can disagree.  Names from the lexicon are the exception: its cues make the synonyms, and the audit knows them
from the same lexicon.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

from discover_lib.base.files import data_folder
from discover_lib.base.seeds import derive_rng
from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit
from discover_lib.tasks.corpus import (
    BEYOND,
    DECOYS,
    FORMAT,
    PLANTED,
    TWIN,
    Case,
    Corpus,
    Talk,
    recorded_talks,
    talk_of,
)

SEED = 0
ARTIFACTS = {"svg_drawing": 1, "creative_writing": 2, "technical_writing": 2}  # drawings are long
ASSISTANTS = ("adaptive", "draft", "options", "mixed", "ask")
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


def main() -> None:
    folder = data_folder() / "audit"
    talks = {}
    for domain, artifacts in ARTIFACTS.items():
        for unit in lay_out(RunOptions(ASSISTANTS, domain=domain, artifacts=artifacts, split="train")).units:
            talks[f"{unit.artifact_id}/{unit.assistants[0]}"] = run_unit(unit)
    written = [Case(**each) for each in json.loads((folder / "free_paraphrases.json").read_text(encoding="utf-8"))]
    corpus = corpus_to_dict(make_corpus(talks, written, SEED), SEED)
    (folder / "planted.json").write_text(json.dumps(corpus, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(corpus["counts"])


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


# -- planters ---------------------------------------------------------------------------------------------------------


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
    """The wording of a hidden intent with its verb and its counted nouns in another form, a telling one among them."""
    found = []
    for intent_id, text in spot.untold():
        phrase = inflected(text)
        if any(word not in phrase.split() for word in spot.fresh(text)):
            found.append((intent_id, phrase))
    if found:
        intent_id, phrase = rng.choice(found)
        yield spot.case("inflected", rng.choice(FRAMES), phrase, intent_id)


_END_OF_NOUN = frozenset(
    "of in on at under with by for from to as against before behind beside below above over along across into near "
    "through around round between after without like about than that which who whose where when while because but is "
    "are was were has had made seen set given known due so if it".split()
)
_NO_PLURAL = frozenset(
    "few lot little single bit hundred thousand dozen half third quarter pair couple living one".split()
)
_ODD_PLURALS = {"man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "fish": "fish"}
_ODD_PLURALS |= {"mouse": "mice", "leaf": "leaves", "wolf": "wolves", "knife": "knives", "shelf": "shelves"}


def inflected(text: str) -> str:
    """Another form that is still English: "Shows a fox that sleeps" → "showing foxes that sleep".

    A verb at the head becomes its participle, and a noun with "a" or "an" its plural, with the verb that follows.
    """
    words = text[:1].lower() + text[1:].rstrip(".")
    told = words.split()
    if told[0].endswith("s") and not told[0].endswith("ss"):
        told[0] = _participle(told[0])
    place = 0
    while place < len(told):
        if told[place] in ("a", "an") and not _stays_single(told, place):
            place = _make_plural(told, place)
        place += 1
    return " ".join(filter(None, told))


def _stays_single(told: list[str], article: int) -> bool:
    """Whether other words of the sentence would have to change along with the noun."""
    after = " ".join(told[article + 1 :])
    return (
        told[article + 1 :][:1] == []
        or told[article + 1] in _NO_PLURAL
        or (article > 0 and told[article - 1] in ("how", "that", "because", "while", "when"))
        or re.search(r"\b(it|its|and (is|has))\b", after) is not None
    )


def _make_plural(told: list[str], article: int) -> int:
    """Drop the article, make the nouns that it counts plural ("a courier or driver"), and say where they end."""
    end = article + 1
    while end < len(told) and told[end] not in _END_OF_NOUN | {"a", "an", "the"}:
        if end > article + 1 and told[end].endswith("ing"):
            break
        ends = told[end].endswith((",", ";", ":")) or end + 1 == len(told)
        following = "" if ends else told[end + 1]
        if ends or following in _END_OF_NOUN | {"and", "or", "a", "an", "the"} or following.endswith("ing"):
            if re.search(r"[^su]s$", told[end]):  # "a rival stands": the verb of the sentence
                told[end] = told[end][:-1]
                told[end - 1] = _plural(told[end - 1])
            else:
                told[end] = re.sub(r"[\w'’-]+", lambda word: _plural(word[0]), told[end], count=1)
        end += 1
        if ends:
            break
    told[article] = ""
    if end + 1 < len(told) and told[end] in ("that", "who", "which"):
        follows = told[end + 1]
        told[end + 1] = {"is": "are", "was": "were", "has": "have"}.get(follows, re.sub(r"(?<=[^s])s$", "", follows))
    return end - 1


def _plural(word: str) -> str:
    if word in _ODD_PLURALS:
        return _ODD_PLURALS[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _participle(verb: str) -> str:
    """ "shows" → "showing", "takes" → "taking", "puts" → "putting"."""
    if verb in ("is", "has"):
        return {"is": "being", "has": "having"}[verb]
    stem = (
        verb[:-3] + "y"
        if verb.endswith("ies")
        else verb[: -2 if verb.endswith(("sses", "shes", "ches", "xes")) else -1]
    )
    if stem.endswith("e") and not stem.endswith(("ee", "ye", "oe")):
        return stem[:-1] + "ing"
    doubled = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", stem)
    return stem + (stem[-1] if doubled else "") + "ing"


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


if __name__ == "__main__":
    main()
