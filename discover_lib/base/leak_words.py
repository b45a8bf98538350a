"""Did the user say what they cannot know?  The one rule that every check of a user's message goes through.

A word leaks if only hidden intents hold it, in any inflection.  A word of an intent that the user has discovered does
not leak, nor does a word said in the conversation.  A word that the user denies ("no waves") leaks only from an
intent that denies it, too.  The rule cannot see paraphrases in other words; where a domain has a
lexicon, `discover_lib.tasks.leaks` adds its synonyms.  Nor does it see words in other letters than a to z: a message
that it cannot read is *not checked* (`is_checkable`), which is not 0 leaks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from discover_lib.base.words import STOP_WORDS, denies, reads, stem, words

How = Literal["verbatim", "inflected", "synonym"]

# Endings by which English makes one content word of another, longest first; the rest must still be a word.
_LISTED = (
    "ations ation ingly ings ing edly ed ers er est ness less ful ish like ments ment ances ance ences ence ancy ency "
    "ant ent en ously ous ively ive ably able ally al ly ions ion ists ist ity"
)
_ENDINGS = tuple(sorted(_LISTED.split(), key=len, reverse=True))
_INFLECTIONS = ("ing", "ed")  # come off a shorter word, too, that ends as one with a silent e does ("dat|ing": date)
_SHORTEST_ROOT = 4
_SILENT_E = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]e?")

# Words for anybody, and names of parts that every artifact has (its tone, its start): alone they reveal no intent.
EVERYDAY = frozenset(
    """someone somebody anyone anybody everyone everybody nobody person people conversation story picture drawing tone
    mood style colour colours color start beginning opening end ending title subject setting line lines""".split()
)
ENOUGH_WORDS = 2  # content words of one intent, in any form, that give it away


class Spoken(NamedTuple):
    """One content word of a text: as written, its place, its root, and whether it is denied there."""

    word: str
    start: int
    end: int
    root: str
    denied: bool


@dataclass(frozen=True)
class Leak:
    """One word or phrase of a message that only hidden intents hold.

    Attributes:
        word, start, end: as said, and where in the message.
        meant: the wording of the intent that it repeats.
        intent_ids: the hidden intents that hold it.
        how: in the intent's very word, in another form of it, or by another name for the same thing.
        other_ids: where the word is somebody's very own, the hidden intents that hold another form of it.
    """

    word: str
    start: int
    end: int
    meant: str
    intent_ids: tuple[str, ...]
    how: How
    other_ids: tuple[str, ...] = ()


def is_checkable(message: str, hidden: Iterable[str]) -> bool:
    """Whether `find_leaks` can read a message and every hidden text that it would compare it with."""
    return reads(message) and all(map(reads, hidden))


def find_leaks(message: str, hidden: Mapping[str, str], known: Iterable[str]) -> tuple[Leak, ...]:
    """The words of `message` that texts in `hidden` hold and texts in `known` do not, in order of appearance.

    Args:
        hidden: intent id → text of each undiscovered or emerging intent.
        known: texts whose words may be said: of discovered intents, and all earlier messages; read only if needed.
    """
    heard = roots(message)
    shared = {intent_id: text for intent_id, text in hidden.items() if not heard.isdisjoint(roots(text))}
    said = {each[3:] for each in spoken_words(message)} if shared else set()
    holders: dict[tuple[str, bool], dict[str, str]] = {}
    for intent_id, text in shared.items():
        for each in spoken_words(text):
            if (each.root, each.denied) in said:
                holders.setdefault((each.root, each.denied), {}).setdefault(intent_id, each.word)
    for text in known:
        if not holders:
            return ()
        sayable = roots(text)
        holders = {key: who for key, who in holders.items() if key[0] not in sayable}
    return tuple(_leak(each, holders[each.root, each.denied]) for each in spoken_words(message) if each[3:] in holders)


def giving_away(leaks: Iterable[Leak], pursued: Collection[str] | None = None) -> frozenset[str]:
    """Ids of the hidden intents that leaks give away; all other leaks are slight.

    Two content words of one intent give it away in any form, one does if it is the intent's own word and the user
    is after that intent.  An inflected word ("softer" of an animal, where lines look soft) or one that belongs to
    another tree than the one talked of is more often innocent than not.

    Args:
        pursued: ids of the intents that the user is after; None: all of them.
    """
    told: dict[str, set[str]] = {}
    own: set[str] = set()
    for leak in leaks:
        if leak.word.lower() in EVERYDAY:
            continue
        for intent_id in (*leak.intent_ids, *leak.other_ids):
            told.setdefault(intent_id, set()).update(roots(leak.word))
            if intent_id in leak.intent_ids and leak.how != "inflected" and (pursued is None or intent_id in pursued):
                own.add(intent_id)
    return frozenset(own | {intent_id for intent_id, words_of in told.items() if len(words_of) >= ENOUGH_WORDS})


def _leak(said: Spoken, holders: Mapping[str, str]) -> Leak:
    same = [intent_id for intent_id, word in holders.items() if stem(word) == stem(said.word)]
    how: How = "verbatim" if same else "inflected"
    holding = tuple(same or holders)
    others = tuple(intent_id for intent_id in holders if intent_id not in holding)
    return Leak(said.word, said.start, said.end, holders[holding[0]], holding, how, others)


# -- words and where they come from ----------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def spoken_words(text: str) -> tuple[Spoken, ...]:
    """The content words of a text, in order."""
    spoken, all_words, position, lowered = [], words(text), 0, text.lower().replace("’", "'")
    for place, word in enumerate(all_words):
        position = lowered.index(word, position)
        if word not in STOP_WORDS and len(word) > 1:
            denied = denies(all_words[max(0, place - 4) : place])
            spoken.append(Spoken(word, position, position + len(word), root(word), denied))
        position += len(word)
    return tuple(spoken)


@lru_cache(maxsize=1024)
def roots(text: str) -> frozenset[str]:
    """The roots of the content words of a text."""
    return frozenset(root(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)


@lru_cache(maxsize=65536)
def root(word: str) -> str:
    """The common root of inflected and derived forms of a word: ``shadows, shadowy, shadowed → shadow``.

    Up to two endings come off, so ``practising``, ``practised`` and ``practices`` meet; irregular forms are looked up.
    """
    base_of = _irregular()
    word = stem(base_of.get(word, word))
    word = base_of.get(word, word)
    for _ in range(2):
        word = _shortened(word)
    # Of "carry", "carri|ed", "hazy" and "haze" the last letter tells the form, not the word.
    return _single(word[:-1]) if word[-1] in "eiy" and len(word) > _SHORTEST_ROOT else word


@cache
def _irregular() -> Mapping[str, str]:
    """Irregular form → the word that it comes from."""
    lines = Path(__file__).with_name("irregular.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ") for line in lines if not line.startswith("#"))
    return {form: base for base, forms in pairs for form in forms.split()}


def _shortened(word: str) -> str:
    if not word.endswith(_ENDINGS):  # most words
        return word
    for ending in _ENDINGS:
        if not word.endswith(ending):
            continue
        left = word[: -len(ending)]
        if len(left) >= (5 if ending == "en" else _SHORTEST_ROOT):  # "frighten", but not "listen"
            return _single(left)
        if ending in _INFLECTIONS and _SILENT_E.fullmatch(left):
            return left if left.endswith("e") else f"{left}e"
    return word


def _single(word: str) -> str:
    """The word before its last consonant was doubled: "spott|ed", "spott|y": spot."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "aeiouslr" else word
