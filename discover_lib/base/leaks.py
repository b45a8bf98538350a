"""Did the user say what they cannot know?  The one rule that every check of a user's message goes through.

A word leaks if only hidden intents hold it, in any inflection, and nothing that may be named does: no intent that the
user has discovered, and nothing said in the conversation.  A word that the user denies ("no waves") leaks only from an
intent that denies it, too.  What the rule cannot see are paraphrases in words of their own; where a domain has a
lexicon, `discover_lib.audit.leaks` adds its synonyms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from discover_lib.base.words import STOP_WORDS, denies, stem, words

How = Literal["verbatim", "inflected", "synonym"]

# Endings by which English makes one content word of another, longest first; what is left must still be a word.
_ENDINGS = sorted(
    "ations ation ingly ings ing edly ed ers er est ness less ful ish like ments ment ances ance ences ence "
    "ously ous ively ive ably able ally al ly ions ion y e".split(),
    key=len,
    reverse=True,
)
_SHORTEST_ROOT = 4

# Irregular forms by what they come from.  Forms that are words of their own ("left", "rose", "saw", "ground", "found",
# "leaves", "felt") are left out: a word taken for another is worse than one that is missed.
_IRREGULAR = {
    form: base
    for base, forms in {
        "begin": "began begun",
        "bite": "bit bitten",
        "blow": "blew blown",
        "break": "broke broken",
        "build": "built",
        "burn": "burnt",
        "buy": "bought",
        "catch": "caught",
        "child": "children",
        "choose": "chose chosen",
        "cling": "clung",
        "creep": "crept",
        "die": "dying died",
        "draw": "drew drawn",
        "dream": "dreamt",
        "drink": "drank drunk",
        "drive": "drove driven",
        "eat": "ate eaten",
        "eavesdrop": "eavesdropping eavesdropped eavesdropper",
        "fall": "fell fallen",
        "feed": "fed",
        "fight": "fought",
        "flee": "fled",
        "fly": "flew flown flying flies",
        "foot": "feet",
        "forget": "forgot forgotten",
        "freeze": "froze frozen",
        "goose": "geese",
        "grow": "grew grown",
        "half": "halves",
        "hang": "hung",
        "hear": "heard",
        "hide": "hid hidden hiding",
        "hold": "held",
        "knife": "knives",
        "lend": "lent",
        "lie": "lying lied",
        "life": "lives",
        "lose": "lost losing",
        "man": "men",
        "mouse": "mice",
        "overhear": "overheard",
        "ride": "rode ridden riding",
        "ring": "rang rung",
        "rise": "risen rising",
        "run": "ran running",
        "sell": "sold",
        "send": "sent",
        "shake": "shook shaken",
        "shine": "shone shining",
        "sing": "sang sung",
        "sink": "sank sunk",
        "sleep": "slept asleep",
        "speak": "spoke spoken",
        "spin": "spun spinning",
        "stand": "stood",
        "steal": "stole stolen",
        "sweep": "swept",
        "swim": "swam swum swimming",
        "teach": "taught",
        "tear": "tore torn",
        "tell": "told",
        "thief": "thieves",
        "throw": "threw thrown",
        "tooth": "teeth",
        "wake": "woke woken waking awake",
        "wear": "wore worn",
        "weave": "wove woven",
        "weep": "wept",
        "win": "won winning",
        "wolf": "wolves",
        "woman": "women",
        "write": "wrote written writing",
    }.items()
    for form in forms.split()
}

# Words for anybody, and names of what every piece has (its tone, its start): alone they give nothing away.
EVERYDAY = frozenset(
    """someone somebody anyone anybody everyone everybody nobody person people conversation story picture drawing tone
    mood style colour colours color start beginning opening end ending title subject setting line lines""".split()
)
ENOUGH_WORDS = 2  # content words of one intent, in whatever form, that give it away


class Spoken(NamedTuple):
    """One content word of a text: as written, where, what it comes from, and whether it is denied there."""

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
        meant: the wording of the intent that it stands for.
        intent_ids: the hidden intents that hold it.
        how: in the intent's very word, in another form of it, or by another name for the same thing.
    """

    word: str
    start: int
    end: int
    meant: str
    intent_ids: tuple[str, ...]
    how: How


def find_leaks(message: str, hidden: Mapping[str, str], known: Iterable[str]) -> tuple[Leak, ...]:
    """The words of `message` that texts in `hidden` hold and texts in `known` do not, in order of appearance.

    Args:
        hidden: intent id → text of what the user does not know (undiscovered or emerging).
        known: what may be named: texts of discovered intents and everything said before; read only if need be.
    """
    said = _told(message)
    holders: dict[tuple[str, bool], dict[str, str]] = {}
    for intent_id, text in hidden.items():
        for each in () if said.isdisjoint(_told(text)) else spoken_words(text):
            if (each.root, each.denied) in said:
                holders.setdefault((each.root, each.denied), {}).setdefault(intent_id, each.word)
    for text in known:
        if not holders:
            return ()
        sayable = roots(text)
        holders = {key: who for key, who in holders.items() if key[0] not in sayable}
    return tuple(_leak(each, holders[each.root, each.denied]) for each in spoken_words(message) if each[3:] in holders)


def giving_away(leaks: Iterable[Leak], pursued: Collection[str] | None = None) -> frozenset[str]:
    """Ids of the hidden intents that leaks give away; what is left of them is slight.

    Two content words of one intent give it away in whatever form, one does if it is the intent's own word and the user
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
        for intent_id in leak.intent_ids:
            told.setdefault(intent_id, set()).update(roots(leak.word))
            if leak.how != "inflected" and (pursued is None or intent_id in pursued):
                own.add(intent_id)
    return frozenset(own | {intent_id for intent_id, words_of in told.items() if len(words_of) >= ENOUGH_WORDS})


def _leak(said: Spoken, holders: Mapping[str, str]) -> Leak:
    same = [intent_id for intent_id, word in holders.items() if stem(word) == stem(said.word)]
    how: How = "verbatim" if same else "inflected"
    holding = tuple(same or holders)
    return Leak(said.word, said.start, said.end, holders[holding[0]], holding, how)


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
def _told(text: str) -> frozenset[tuple[str, bool]]:
    """Of every content word what it comes from and whether it is denied."""
    return frozenset((each.root, each.denied) for each in spoken_words(text))


@lru_cache(maxsize=1024)
def roots(text: str) -> frozenset[str]:
    """What the content words of a text come from."""
    return frozenset(root(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)


@lru_cache(maxsize=65536)
def root(word: str) -> str:
    """What inflected and derived forms of a word share: ``shadows, shadowy, shadowed → shadow``.

    Up to two endings come off, so ``practising``, ``practised`` and ``practices`` meet; irregular forms are looked up.
    """
    word = stem(_IRREGULAR.get(word, word))
    for _ in range(2):
        word = _shortened(word)
    return word


def _shortened(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_ROOT:
            left = word[: -len(ending)]
            if left[-1] == left[-2] and left[-1] not in "aeiousl":  # "spotted": spot
                left = left[:-1]
            return left[:-1] + "i" if left.endswith("y") else left
    if word.endswith("y") and len(word) > _SHORTEST_ROOT:
        return word[:-1] + "i"
    return word
