"""The miniature's user: a seeded phrase grammar that obeys the view (paper, appendix A.2.3).

The view alone decides what may be said.  The user names a discovered intent plainly and hints at an emerging one
through the broader value.  Of undiscovered intents the user names only the category, and only if a broader value of it
is right.  Otherwise the user says what they like and asks for more.  The voice then draws a frame of `phrases.yaml` by
the user's temperament, and maybe a second one that answers what the assistant did.  Assistants hear the same message
in every temperament and every typing style.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from discover_lib.base.leak_words import roots
from discover_lib.base.seeds import derive_rng
from discover_lib.base.words import STOP_WORDS, words
from discover_lib.core.conversation import Message
from discover_lib.core.view import UserView
from discover_lib.engines.manner import Form, Manner
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.phrases import (
    in_drawn_order,
    in_hand,
    other_than,
    phrase_book,
    spoken,
    the,
)
from discover_lib.engines.miniature.reading import UserReading, parts_of, pieces_of, read_reply, read_user
from discover_lib.metrics.manners import SHORT

MAX_NAMED = 2  # things a user says at once
MAX_WORDS = 22  # with an answer in front that could be left out
LONG = 3  # replies without success that try one's patience
TALK = 0.6  # share of everyday words from which on a reply without content is talk, below it is nonsense
TRIED = 40  # wordings of a message of another manner
SPARE = 3  # words that a message of another manner may lack or have too many
ALONE = 0.5  # how often an answer to what the assistant did stands alone, where there is nothing else to say

Doing = Literal["options", "piece", "same", "blank", "spoken", "asked", "named", "waiting", "refused", "lost"]
NOTHING_UNDERSTOOD = ("lost", "blank", "refused", "waiting")
NEEDED = (*NOTHING_UNDERSTOOD, "same", "asked")  # answers that are not left out for the sake of brevity
_REFUSALS = ("i'm sorry", "i am sorry", "i can't", "i cannot", "i won't", "i'm unable", "i am unable", "as an ai")
_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six"}
_SAID_ONCE = {"thank", "thanks", "please", "sorry", "show", "again", "like", "love"}
_LETTERS = {f"{letter}." for letter in "ABCDEFGH"}  # under which a reply shows a sample, in a line
_ARTICLE = re.compile(r"\b(?:the|an?) (?=[a-z])")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class Content(NamedTuple):
    """What may be said: the act, and what it names."""

    act: str
    names: Mapping[str, str] = {}


class Heard(NamedTuple):
    """What the assistant did in its last reply, and every option: its name ("" where none may be said) and values."""

    doing: Doing
    options: tuple[tuple[str, frozenset[str]], ...] = ()
    asked: tuple[str, ...] = ()  # dimensions


class MiniatureVoice:
    """Speaks for a user of one domain.

    Args:
        manner: how users type; None for the paper's.
    """

    def __init__(self, domain: str, manner: Manner | None = None) -> None:
        self.domain = domain
        self.manner = manner
        self.capitals = False
        self.lexicon = load_lexicon(domain)
        self.book = phrase_book(domain)
        self.temperament = self.book.temperaments[0]

    @lru_cache(maxsize=1024)  # noqa: B019 (a voice lives as long as its process)
    def of(self, user: int) -> MiniatureVoice:
        """The same voice in the temperament of one user, who keeps it from message to message."""
        voice = copy.copy(self)
        voice.temperament = derive_rng(user, "temperament").choice(self.book.temperaments)
        if self.manner:
            voice.capitals = derive_rng(user, "capitals").random() >= self.manner.lower_case
        return voice

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        rng, content = derive_rng(seed, "frame"), self._content(view)
        heard = self._hear(messages)
        if content.act == "clear":
            content = Content(self._how_clear(content.names["items"], view, heard, messages), content.names)
        elif (
            (content.act != "done" and heard.doing in NOTHING_UNDERSTOOD)
            or content.act == "nothing"
            or (content.act in ("category", "liking") and heard.doing == "named" and not view.changed)
        ):  # nobody praises what they could not make out, or goes on as if nothing was
            content = Content("another" if heard.doing in ("options", "piece", "same", "blank") else "show")
        answer = self._answer(view, heard, content, messages, rng)
        form = self.manner.form(derive_rng(seed, "form")) if self.manner else None
        return self._worded(content, answer, messages, rng, form)

    # -- what may be said ----------------------------------------------------------------------------------------------

    def _content(self, view: UserView) -> Content:
        if view.pursuing is None:
            return Content("done")
        if view.pursuing == "clear":
            return Content("clear", {"items": self._items(view)})
        return self._hint(view) if view.pursuing == "fuzzy" else self._category(view)

    def _values(self, intent_id: str, view: UserView) -> tuple[str, ...]:
        return known_values(view.texts[intent_id], self.domain)

    def _values_of(self, intent_ids: Sequence[str], view: UserView) -> list[str]:
        return [value for intent_id in intent_ids for value in self._values(intent_id, view)]

    def _items(self, view: UserView) -> str:
        """What is wanted, said at its most specific, a few things at once: "a fox with a flower crown"."""
        lowest = [key for key in view.items if not any(other.startswith(key + ".") for other in view.items)]
        said = ""
        for key in lowest[:MAX_NAMED]:
            values = [self.lexicon.values[value] for value in self._values(key, view)]
            item = ", ".join(value.say for value in values) or view.texts[key].lower()
            joined = self.lexicon.dimensions[values[0].dimension].joined if values else "and"
            said += f" {joined} {item}" if said else item
        return said

    def _hint(self, view: UserView) -> Content:
        """The category of what is half known, and the broader thing above it where the user knows that."""
        values = self._values(view.items[0], view)
        if not values:
            return Content("nothing")
        value = self.lexicon.values[values[0]]
        aspect = self.lexicon.dimensions[value.dimension].aspect
        if value.parent is None or value.parent not in self._known(view):
            return Content("vague", {"aspect": aspect})
        parent = self.lexicon.values[value.parent]
        return Content("narrower", {"other": other_than(parent)})

    def _known(self, view: UserView) -> set[str]:
        """What has been achieved, and all that is broader."""
        return {each for value in self._values_of(view.achieved, view) for each in self.lexicon.lineages[value]}

    def _category(self, view: UserView) -> Content:
        """Only what achieved and latent share may be named; without such a category, what was just got right."""
        if shared := self._values_of(view.shared, view):
            latest = self.lexicon.values[shared[-1]]
            aspect = self.lexicon.dimensions[latest.dimension].aspect
            names = {"liked": the(latest), "known": latest.say, "aspect": aspect}
            return Content("category", names)
        if fresh := self._fresh(view)[-MAX_NAMED:]:
            return Content("liking", {"liked": " and ".join(the(self.lexicon.values[value]) for value in fresh)})
        return Content("nothing")

    def _fresh(self, view: UserView) -> list[str]:
        """What was got right in this turn."""
        return self._values_of([key for key in view.achieved if key in view.changed], view)

    # -- what the assistant did ----------------------------------------------------------------------------------------

    def _hear(self, messages: Sequence[Message]) -> Heard:
        replies = [message.content for message in messages if message.role == "assistant"]
        text = replies[-1] if replies else ""
        reading = read_reply(text, self.domain)
        if reading.kind == "artifact" and any(reading.options):
            named = self._named_options(text, reading.options)
            if len(replies) > 1 and pieces_of(text, self.domain) == pieces_of(replies[-2], self.domain):
                return Heard("same", named)
            return Heard("options" if len(reading.options) > 1 else "piece", named)
        if reading.kind == "artifact" or "```" in text or "</" in text or "<svg" in text:  # something was to be made
            return Heard("blank")
        if len(reading.options) > 1:
            return Heard("spoken", self._named_options(text, reading.options))
        if reading.dimensions_asked:
            return Heard("asked", asked=reading.dimensions_asked)
        if reading.options:
            return Heard("named", (("it", frozenset(reading.options[0])),))
        return Heard(_talk(text))

    def _named_options(self, text: str, read: Sequence[Mapping[str, str]]) -> tuple[tuple[str, frozenset[str]], ...]:
        """The options that can be pointed at, as a user calls them: by letter if they have one, else by place."""
        options = [frozenset(option) for option in read]
        if letters := [row[0] for row in text.split("\n") if row in _LETTERS]:  # a whole artifact may stand before them
            return tuple(zip(letters, options[-len(letters) :], strict=False))
        samples = [frozenset(option) for option in parts_of(text, self.domain)[1]] or options
        places = [f"the {place} one" for place in _ORDINALS[: len(samples)]]
        return tuple(zip(places if all(map(self._harmless, places)) else [""] * len(samples), samples, strict=False))

    def _how_clear(self, items: str, view: UserView, heard: Heard, messages: Sequence[Message]) -> str:
        """Whether what is wanted was named in talk just now, was asked for before, or is new."""
        wanted = {value for key in view.items[-1:] for value in self._values(key, view)}
        if heard.doing in ("spoken", "named") and wanted & {value for _, values in heard.options for value in values}:
            return "clear_chosen"
        said = any(message.role == "user" and items in message.content for message in messages)
        return "clear_again" if said else "clear"

    def _answer(
        self, view: UserView, heard: Heard, content: Content, messages: Sequence[Message], rng: random.Random
    ) -> Content | None:
        """What to say to what the assistant did, before the rest."""
        reacts = rng.random() < self.temperament.reacts
        unsure = content.act in ("category", "liking", "another", "show")
        fresh = self._fresh(view)
        if heard.doing in NOTHING_UNDERSTOOD or (heard.doing == "same" and not fresh and content.act != "done"):
            return Content(heard.doing)
        if heard.doing == "asked" and content.act != "done" and not self._speaks_of(heard.asked, view):
            return Content("asked")
        if heard.doing == "spoken" and unsure and (reacts or content.act == "show"):
            return Content("spoken_none")
        if content.act == "done":
            return None
        if heard.doing == "options" and (reacts or rng.random() < self.temperament.reacts):
            return self._pointing(heard, frozenset(fresh), content, view, rng)
        if fresh:
            return Content("closer" if content.act in ("category", "narrower") else "progress") if reacts else None
        turns = sum(message.role == "assistant" for message in messages)
        if unsure and turns >= LONG and rng.random() < self.temperament.loses_patience:
            return Content("impatient")
        return None

    def _speaks_of(self, dimensions: Collection[str], view: UserView) -> bool:
        """Whether what is wanted is an answer to a question about these dimensions."""
        values = self._values_of(view.items, view) if view.pursuing in ("clear", "fuzzy") else []
        return any(self.lexicon.values[value].dimension in dimensions for value in values)

    def _pointing(
        self, heard: Heard, fresh: frozenset[str], content: Content, view: UserView, rng: random.Random
    ) -> Content | None:
        """The options that have what was just got right, or come near to what is half known; by no other measure."""
        if fresh:
            fits = [name for name, values in heard.options if name and self._shows(values, fresh)]
            if len(fits) == 1:
                onward = content.act not in ("narrower", "category") and rng.random() < 1 / 2
                return Content("go_on" if onward else "pick", {"pick": fits[0]})
            if 1 < len(fits) < len(heard.options):
                return Content("pick_tie", {"picks": f"{', '.join(fits[:-1])} and {fits[-1]}"})
            return None
        if view.pursuing == "fuzzy":
            wanted = self._values(view.items[0], view)
            parent = self.lexicon.values[wanted[0]].parent if wanted else None
            if parent is None or parent not in self._known(view):
                return None
            near = [name for name, values in heard.options if name and self._shows(values, {parent})]
            return Content("pick_near", {"pick": near[0]}) if len(near) == 1 else None
        if content.act == "clear":
            return None
        number = _NUMBERS.get(len(heard.options), "")
        return Content("none_of", {"n": number} if number and self._harmless(number) else {})

    def _harmless(self, said: str) -> bool:
        """Whether no requirement holds a word of it."""
        return roots(said).isdisjoint(self.book.held)

    def _shows(self, option: frozenset[str], asked: frozenset[str] | set[str]) -> bool:
        return all(any(self.lexicon.covers(value, shown) for shown in option) for value in asked)

    # -- how it is said ------------------------------------------------------------------------------------------------

    def _worded(
        self,
        content: Content,
        answer: Content | None,
        messages: Sequence[Message],
        rng: random.Random,
        form: Form | None,
    ) -> str:
        """The first drawn wording that assistants hear as what it says (see `phrases.yaml`), nearest to the form."""
        before = [spoken(message.content) for message in messages if message.role == "user"]
        # What assistants hear of the plainest wording is what they must hear of every other.
        expected = read_user(self._plainest(content), self.domain) if content.names else UserReading()
        needed = answer is not None and answer.act in NEEDED
        fronts = list(islice(self._wordings(answer, before, rng), 3)) if answer else []
        backs: Iterable[str] = self._wordings(content, before, rng)
        if form:
            backs = [*backs, *([""] if answer and content.act in ("another", "show", "done") else [])]
        elif answer and content.act in ("another", "show", "done") and (content.act == "done" or rng.random() < ALONE):
            backs = [""]
        pairs = ((front, back) for back in backs for front in (fronts if needed else [*fronts, ""]))
        wordings: Iterable[str] = (
            _joined(front, back)
            for front, back in pairs
            if (front or back) and not (front and back and self._is_too_much(front, back, form or needed))
        )
        if form:
            wordings = self._nearest(wordings, form)
        for wording in wordings:
            message = self._shaped(wording, form, before, rng) if form else wording
            if read_user(message, self.domain) == expected:
                return message if form else in_hand(message, self.temperament, rng)
        return self._plainest(content)

    def _is_too_much(self, front: str, back: str, may_be_long: object) -> bool:
        """Whether an answer and the rest say a thing twice, or are too long together."""
        return _echoes(front, back) or (not may_be_long and len(words(_joined(front, back))) > MAX_WORDS)

    def _nearest(self, wordings: Iterable[str], form: Form) -> list[str]:
        """The wordings that come nearest to a form."""
        all_of_them = [*wordings]
        if form.words <= SHORT:
            all_of_them += [_ARTICLE.sub("", wording) for wording in all_of_them]  # as people in a hurry write
        all_of_them.sort(key=lambda said: (max(0, len(said.split()) - form.words), ("?" in said) != form.asks))
        return all_of_them[:TRIED]

    def _shaped(self, message: str, form: Form, before: Sequence[str], rng: random.Random) -> str:
        """A message with the marks of a form, and with talk beside the point up to its length."""
        marks = "!" if form.asks else "!?"  # a full stop stands in their place where a sentence goes on
        message = re.sub(rf"[{marks}]", "", re.sub(rf"[{marks}]+(?= )", ".", message))
        for aside in in_drawn_order(self.book.acts["asides"], (), before, rng):
            if any(aside.is_in(text) for text in before):  # those that were said come last
                break
            missing = form.words - len(message.split())
            asked_for = form.asks and "?" not in message
            if missing < SPARE and not asked_for:
                break
            size, asks = len(aside.text.split()), "?" in aside.text
            fits = min(missing, 40) // 4 <= size <= max(missing, SPARE) + SPARE * asked_for
            if fits and asks == asked_for:
                message = _joined(message, aside.text) if asks or rng.random() < 1 / 2 else _joined(aside.text, message)
        if form.exclaims:
            message = message.rstrip(".") + "!"
        ends = (".",) if self.capitals else ("", "", ".")
        return in_hand(message, self.temperament._replace(capitals=self.capitals, ends=ends), rng)

    def _wordings(self, content: Content, before: Sequence[str], rng: random.Random) -> Iterator[str]:
        frames = in_drawn_order(self.book.acts[content.act], content.names, before, rng, self.temperament.name)
        return (frame.text.format(**content.names) for frame in frames)

    def _plainest(self, content: Content) -> str:
        wordings = self.book.plain
        return wordings.get(content.act.partition("_")[0], wordings["other"]).format(**content.names)


def _talk(text: str) -> Doing:
    """What a reply is that neither makes nor names anything."""
    lowered, said = text.lower().replace("’", "'"), words(text)
    if any(refusal in lowered for refusal in _REFUSALS):
        return "refused"
    everyday = sum(word in STOP_WORDS for word in said)
    return "waiting" if said and everyday >= TALK * len(said) else "lost"


def _echoes(front: str, back: str) -> bool:
    """Whether the second begins with a word of the first, or both say thanks: "good. good, the heron"."""
    before, after = words(front), words(back)
    return after[0] in before or bool(_SAID_ONCE & {*before} & {*after})


def _joined(front: str, back: str) -> str:
    if not front or not back:
        return front or back
    return f"{front} {back}" if front[-1] in ".!?" else f"{front}. {back}"
