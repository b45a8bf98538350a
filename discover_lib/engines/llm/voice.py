"""A language model as the user's voice: one structured call per message (paper, appendix A.2.3).

The voice sees the conversation and the filtered view, never the tree.  Its message is checked for length, plain text,
breaks of the role, and words that the user cannot know by the view.  A leak check (optional) looks for paraphrases.
One re-ask names the defect.  A message that is still defective is used if it could be a user's, and the turn records
its flaws: a known flaw costs less than a discarded conversation.  `Turn.leaks` records the actual leaks.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from discover_lib.base.leak_words import find_leaks, giving_away
from discover_lib.base.seeds import derive_rng
from discover_lib.core.conversation import Message
from discover_lib.core.roles import VoiceError
from discover_lib.core.view import UserView
from discover_lib.engines.llm.answers import UserMessage
from discover_lib.engines.llm.asking import Model, ask_structured, failing_as
from discover_lib.engines.llm.calls.exchange import Asks, LLMError, Request
from discover_lib.engines.llm.judge import LeakCheck
from discover_lib.engines.llm.prompting import PromptSet, WireMessages, one_line, transcript
from discover_lib.engines.manner import Form, Manner

TEMPERATURE = 0.7
MAX_TOKENS = 2048
MAX_WORDS = 40
LEAKED = "the user does not know this yet and cannot put it into words"
PARAPHRASED = "the message says in other words what the user cannot put into words yet: be vaguer"

_MARKUP = re.compile(r"```|^\s*(?:[-*•]|\d+[.)])\s|^#|\*\*|__|</?[a-zA-Z][^>]*>|\[\d+(?:\.\d+)*\]", re.MULTILINE)

_SPEAKER = re.compile(r"user:\s+(?=\S)", re.IGNORECASE)

# Ids and not decimals: in brackets, or after a word such as "intent".
_ANY_ID = r"\s*\[\d+(?:\.\d+)*\]|\s*\b(?:intent|requirement|item|id)s? #?\d+(?:\.\d+)*\b"

BREAKS_ROLE = re.compile(
    r"\bas an? (?:ai|artificial intelligence)\b(?: language)?(?: model| assistant)?,? i\b"
    r"|\bi(?:'m| am) (?:only |just )?an? (?:ai|(?:large )?language model)\b(?! \w+er\b)"
    r"|\b(?:can(?:not|'t| not)|won't|will not|unable to) (?:role-?\s?play|pretend to be|simulate|play the user)\b"
    r"|\bthe (?:ai )?assistant(?:'s)? (?:should|must|needs? to|has to|could|reply|response|message|offer)"
    r"|\b(?:simulated user|my system prompt)\b",
    re.IGNORECASE,
)


class LLMVoice:
    """Speaks for a user by a language model."""

    def __init__(
        self,
        client: Asks,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        prompts: PromptSet | None = None,
        leak_check: LeakCheck | None = None,
        manner: Manner | None = None,
        **effort: Any,
    ) -> None:
        self.model = Model(client, model, temperature, max_tokens, prompts, **effort)
        self.leak_check = leak_check
        self.manner, self._lower = manner, False
        self._longest = max(MAX_WORDS, round(manner.words[-1])) if manner else MAX_WORDS

    def of(self, user: int) -> LLMVoice:
        """The same voice with the habits of one user, the same in every message."""
        if self.manner is None:
            return self
        voice = copy.copy(self)
        voice._lower = derive_rng(user, "capitals").random() < self.manner.lower_case
        return voice

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        values = {
            "conversation": transcript(messages),
            "achieved": describe_items(view.achieved, view),
            "pursuing": view.pursuing or "nothing",
            "items": describe_latent(view, messages) if view.pursuing == "latent" else describe_items(view.items, view),
        }
        prompt = self.model.prompts.render("user_reply", **values)
        if self.manner:
            prompt = self._formed(prompt, self.manner.form(derive_rng(seed, "form")))
        request = self.model.request(prompt, "voice", seed=seed)
        with failing_as(VoiceError, "the user's message could not be had"):
            return self._asked(request, view, messages)

    def _formed(self, prompt: WireMessages, form: Form) -> WireMessages:
        """The prompt with the form of the message in its last part: many models require alternating roles."""
        marks = [
            "small letters throughout" if self._lower else "capitals as usual",
            "a question" if form.asks else "no question mark",
            "an exclamation mark" if form.exclaims else "no exclamation mark",
        ]
        [added] = self.model.prompts.render("user_manner", words=str(form.words), marks=", ".join(marks))
        return (*prompt[:-1], {**prompt[-1], "content": f"{prompt[-1]['content']}\n\n{added['content']}"})

    def flaws(self, message: str, view: UserView, messages: Sequence[Message]) -> tuple[str, ...]:
        return tuple(self._found(message, view, messages))

    def _found(self, message: str, view: UserView, messages: Sequence[Message]) -> dict[str, str]:
        """As `find_flaws`, with the result of the leak check."""
        found = find_flaws(message, view, messages, self._longest)
        if "leak" not in found and self._paraphrases(message, view, messages):
            found["leak"] = PARAPHRASED
        return found

    def _asked(self, request: Request, view: UserView, messages: Sequence[Message]) -> str:
        heard: dict[str, int] = {}  # message → number of flaws

        def check(answer: UserMessage) -> str | None:
            message = plain(answer.message)
            found = self._found(message, view, messages)
            if "role" not in found:
                heard[message] = len(found)
            return "; ".join(found.values()) or None

        try:
            return plain(ask_structured(self.model.client, request, UserMessage, check).value.message)
        except LLMError as error:
            if not (error.raw and heard):
                raise
            return min(reversed(heard), key=heard.__getitem__)  # the later one on a tie

    def _paraphrases(self, message: str, view: UserView, messages: Sequence[Message]) -> bool:
        """Whether the leak check finds a fuzzy or latent intent in a message, in other words.

        The voice sees no other hidden intent, so it cannot paraphrase one.
        """
        if self.leak_check is None or view.pursuing not in ("fuzzy", "latent"):
            return False
        hidden = {intent_id: view.texts[intent_id] for intent_id in view.items}
        known = [view.texts[intent_id] for intent_id in view.achieved]
        return bool(self.leak_check.given_away(message, hidden, known, messages))


def plain(message: str) -> str:
    """The message without surrounding white space, a leading "User:", and quotation marks around the whole."""
    message = _SPEAKER.sub("", message.strip())
    for opening, closing in ('""', "''", "“”"):
        inner = message[1:-1]
        if len(message) > 1 and message[0] == opening and message[-1] == closing and closing not in inner:
            return inner.strip()
    return message


def describe_items(intent_ids: Sequence[str], view: UserView) -> str:
    """The items of a view, one a line, each followed by the effect of the last reply."""
    lines = []
    for intent_id in intent_ids:
        lines.append(f"- [{intent_id}] {one_line(view.texts[intent_id])}")
        if intent_id in view.changed:
            lines.append("  new: this changed with the last reply")
        if note := without_ids(one_line(view.notes.get(intent_id, "")), view):
            lines.append(f"  what happened: {note}")
    return "\n".join(lines) or "(none)"


def describe_latent(view: UserView, messages: Sequence[Message]) -> str:
    """Only the category of a latent intent: its name, or the nearest achieved intent of the same tree.

    There is no category if the user has achieved no intent of that tree (`UserView.shared`).  The texts and reasons of
    unknown intents are left out, so the voice cannot reveal them.  A name that would itself reveal an intent ("gift",
    where its existence is hidden) is left out, too.
    """
    if not view.shared:
        return "- something, of no category that you could name"
    if view.category and not worded(view.category, view, messages):
        return f"- something of the category {view.category!r}"
    first = view.items[0].split(".")
    nearest = max(view.shared, key=lambda key: _common(key.split("."), first))
    return f"- something of the category of [{nearest}]"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of equal parts at the beginning of two ids."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def without_ids(note: str, view: UserView) -> str:
    """A judge's reason without ids, which a user does not know."""
    ids = "".join(rf"{re.escape(key)}|" for key in view.texts if "." in key)
    return re.sub(_ANY_ID + rf"|\s*(?<![\d.])(?:{ids}\d+(?:\.\d+){{2,}})(?!\d|\.\d)", "", note).strip()


def find_flaws(message: str, view: UserView, messages: Sequence[Message], longest: int = MAX_WORDS) -> dict[str, str]:
    """The flaws of a message by its words, its view and the conversation.

    Returns:
        Kind of the flaw ("length", "markup", "role" or "leak") → a line for the message's writer.
    """
    found = {}
    if (length := len(message.split())) > longest:
        found["length"] = f"the message has {length} words; at most {longest}"
    if "\n" in message or _MARKUP.search(message):
        found["markup"] = "the message must be plain text on one line, without lists, markup or ids"
    if BREAKS_ROLE.search(message):
        found["role"] = "you are the user, not an assistant or a model: write what this user types"
    if told := worded(message, view, messages):
        named = ", ".join(repr(word) for word in told)
        found["leak"] = f"{LEAKED}: avoid {named}"
    return found


def worded(message: str, view: UserView, messages: Sequence[Message]) -> tuple[str, ...]:
    """Words of `message`, in order, that reveal a fuzzy or latent item and are new to the conversation."""
    if view.pursuing not in ("fuzzy", "latent"):
        return ()
    hidden = {intent_id: view.texts[intent_id] for intent_id in view.items}
    known = [*(view.texts[intent_id] for intent_id in view.achieved), *(each.content for each in messages)]
    leaks = find_leaks(message, hidden, known)
    given = giving_away(leaks)
    return tuple(dict.fromkeys(leak.word for leak in leaks if not given.isdisjoint(leak.intent_ids)))
