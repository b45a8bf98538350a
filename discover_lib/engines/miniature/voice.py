"""The miniature's user: a seeded phrase grammar that obeys the view (paper, appendix A.2.3).

At most three frames a kind of message, about twenty words, in a user's lower-case hand.  What is clear is said
plainly; what is fuzzy is hinted at through the broader thing already known; of what is latent only the category is
named, and only where something of that category has been achieved; else the user says what they like and that
something is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from discover_lib.base.seeds import derive_rng
from discover_lib.core.conversation import Message
from discover_lib.core.roles import JudgeError
from discover_lib.core.view import UserView
from discover_lib.engines.miniature.judge import requirement
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.engines.miniature.rendering import the

MAX_NAMED = 2  # things a user says at once

CLEAR = ("i want {items}", "please make it {items}", "it should be {items}")
FUZZY_WITHIN = (
    "not sure, maybe {aspect} could be some other kind of {broader}",
    "hmm, maybe a different kind of {broader} for {aspect}, not sure",
)
FUZZY = ("not sure, maybe {aspect} could be different somehow", "hmm, {aspect} could be different maybe, not sure")
LATENT = (
    "i like {achieved}, but something about {aspect} feels off",
    "i like {achieved}, but not quite {aspect} yet",
)
SOMETHING = (
    "i like {achieved}, but something is missing, i can't say what",
    "i like {achieved}, though something is missing",
)
NEARLY_EMPTY = (
    "it is getting there, but something is missing, i can't say what",
    "something is missing, though i don't know what",
)
ASKED_LATENT = "i'm not sure. "
DONE = "i like it as it is"


class MiniatureVoice:
    """Speaks for a user of one domain."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.lexicon = load_lexicon(domain)

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        rng = derive_rng(seed, "frame")
        if view.pursuing is None:
            return DONE
        if view.pursuing == "clear":
            return rng.choice(CLEAR).format(items=" and ".join(self._most_specific(view)))
        if view.pursuing == "fuzzy":
            return self._hint(view.items[0], view, rng.random())
        unsure = ASKED_LATENT if self._was_asked(messages) else ""
        return unsure + self._name_category(view, rng.random())

    def _values(self, intent_id: str, view: UserView) -> tuple[str, ...]:
        try:
            return requirement(view.texts[intent_id], self.domain)
        except JudgeError:  # a requirement written by hand, in words of its own
            return ()

    def _most_specific(self, view: UserView) -> list[str]:
        """What is wanted, said at its most specific, a few things at once."""
        lowest = [key for key in view.items if not any(other.startswith(key + ".") for other in view.items)]
        sayings = []
        for intent_id in lowest[:MAX_NAMED]:
            named = [self.lexicon.values[value].say for value in self._values(intent_id, view)]
            sayings.append(", ".join(named) or view.texts[intent_id].lower())
        return sayings

    def _hint(self, intent_id: str, view: UserView, draw: float) -> str:
        value = self.lexicon.values[self._values(intent_id, view)[0]]
        aspect = self.lexicon.dimensions[value.dimension].aspect
        if value.parent is None:
            return _pick(FUZZY, draw).format(aspect=aspect)
        broader = the(self.lexicon.values[value.parent]).removeprefix("the ")
        return _pick(FUZZY_WITHIN, draw).format(aspect=aspect, broader=broader)

    def _name_category(self, view: UserView, draw: float) -> str:
        """Only what achieved and latent share may be named; without such a category, what was just got right."""
        root = view.items[0].split(".")[0]
        shared = self._values_of([key for key in view.achieved if key.split(".")[0] == root], view)
        if shared:
            latest = self.lexicon.values[shared[-1]]
            aspect = self.lexicon.dimensions[latest.dimension].aspect
            return _pick(LATENT, draw).format(achieved=the(latest), aspect=aspect)
        fresh = self._values_of([key for key in view.achieved if key in view.changed], view)[-MAX_NAMED:]
        if fresh:
            liked = " and ".join(the(self.lexicon.values[value]) for value in fresh)
            return _pick(SOMETHING, draw).format(achieved=liked)
        return _pick(NEARLY_EMPTY, draw)

    def _values_of(self, intent_ids: Sequence[str], view: UserView) -> list[str]:
        return [value for intent_id in intent_ids for value in self._values(intent_id, view)]

    def _was_asked(self, messages: Sequence[Message]) -> bool:
        reading = read_reply(messages[-1].content, self.domain)
        return reading.kind == "dialogue_act" and bool(reading.dimensions_asked)


def _pick(frames: Sequence[str], draw: float) -> str:
    return frames[int(draw * len(frames))]
