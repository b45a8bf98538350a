"""How a local model is addressed and understood: plain chat or the miniature's notation, and the chat template.

Training rows go in through `encode`, completions come out through `decode`.  `Chat` gives the same tokens in training,
in sampling and in use.  The prompt of a reply is the template's output up to that reply, so tokens are only appended.
Templates alone do not guarantee this.  Qwen3's template omits the thought block of every turn but the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json
from discover_lib.base.tokens import WireMessage
from discover_lib.core.conversation import Candidate, Message, Reply, Text
from discover_lib.metrics.scorer import Behaviour

TINY, PREFIX = "tiny", "hf:"  # names of models on this machine: see `engines.local.names`
CARD = "tiny.json"  # marks the folder of a tiny model, which speaks the notation, and holds its measurements
SLOT = "⟦the reply⟧"  # placeholder of a reply, to find the template's text around it
Spoken = Message | Mapping[str, Any]


class LocalModelError(DiscoverError):
    """A name or folder without a usable model, in one line with a remedy."""


# -- plain chat and the notation --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainChat:
    """Ordinary chat models: text in, text out, lengths in the model's own tokens.

    Attributes:
        text: form of the assistant's turns in the training rows.
    """

    base: str
    system: str = ""
    text: Text = "content"

    def encode(self, messages: Sequence[Spoken], domain: str) -> list[WireMessage]:
        """A conversation as input of the chat template."""
        wire = [_wire(each) for each in messages]
        if self.system and wire and wire[0]["role"] == "user":
            return [{"role": "system", "content": self.system}, *wire]
        return wire

    def decode(self, text: str, n_tokens: int, domain: str, messages: Sequence[Message]) -> Reply:
        """The model's reply to `messages`; `n_tokens` counts its own tokens without the end mark."""
        return Reply(text, n_tokens, f"tokenizer of {self.base}", "policy")


@dataclass(frozen=True)
class Notation:
    """The dialect of tiny models: see `discover_lib.engines.local.tiny_language`."""

    text: Text = "notation"

    def encode(self, messages: Sequence[Spoken], domain: str) -> list[WireMessage]:
        from discover_lib.engines.local.tiny_language import encode_messages

        return encode_messages(messages, domain)

    def decode(self, text: str, n_tokens: int, domain: str, messages: Sequence[Message]) -> Reply:
        from discover_lib.engines.local.tiny_language import decode

        return decode(text, domain, messages, "policy")


Dialect = PlainChat | Notation


def dialect_of(base: str, system: str = "") -> Dialect:
    """The dialect of a base model, by the contents of its folder."""
    return Notation() if is_tiny(base) else PlainChat(base, system)


def is_tiny(folder: str | Path) -> bool:
    """Whether a model's folder holds a tiny model."""
    return (Path(folder) / CARD).is_file()


def read_card(folder: str | Path) -> dict[str, Any]:
    """The card of a tiny model with its domains; {} if the folder holds another model.

    Raises:
        LocalModelError: the card is damaged.
    """
    if not is_tiny(folder):
        return {}
    card = read_json(Path(folder) / CARD, LocalModelError)
    if not isinstance(card, dict) or not isinstance(card.get("domains"), list):
        raise LocalModelError(f"{Path(folder) / CARD}: damaged (no list of domains)")
    return {**card, "domains": tuple(card["domains"])}


def tiny_domains(folder: str | Path) -> tuple[str, ...] | None:
    """The domains of a tiny model; None for other models.

    Raises:
        LocalModelError: its card is damaged.
    """
    return read_card(folder).get("domains")


def behaviour(candidate: Candidate, domain: str) -> Behaviour | None:
    """The main behavior of a judged reply: divergent or convergent.

    In the miniature's domains the contents of the reply decide.  Elsewhere an artifact is convergent and talk is
    divergent.
    """
    if candidate.evaluation is None:
        return None
    if domain:
        from discover_lib.engines.miniature.judge import behaviour_of
        from discover_lib.engines.miniature.lexicon import load_lexicon
        from discover_lib.engines.miniature.reading import read_reply

        return behaviour_of(1, read_reply(candidate.reply.text, domain), load_lexicon(domain)).behaviour
    return "convergent" if candidate.evaluation.kind == "artifact" else "divergent"


def is_local(assistant: str) -> bool:
    """Whether an assistant's name means a model on this machine."""
    return assistant == TINY or assistant.startswith(PREFIX)


def heard(text: str) -> str:
    """An assistant's words without its thoughts, by the rule for API models; "" if a thought has no end."""
    from discover_lib.engines.llm.asking import UnusableError, without_thinking  # heavy, and not on the site

    try:
        return without_thinking(text).strip()
    except UnusableError:
        return ""


def _wire(message: Spoken) -> WireMessage:
    if isinstance(message, Message):
        message = {"role": message.role, "content": message.content}
    role, content = message["role"], message["content"]
    return {"role": role, "content": heard(content) if role == "assistant" else content}


# -- the chat template ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """Token ids.  `own` marks the tokens that carry loss: the assistant's words with their end mark."""

    ids: list[int]
    own: list[bool]


@dataclass(frozen=True)
class Chat:
    """A tokenizer's chat template.

    Attributes:
        thinking: whether the model may think before it replies.
    """

    tokenizer: Any
    thinking: bool = False

    def prompt(self, messages: Sequence[WireMessage]) -> list[int]:
        """Token ids of a conversation up to the start of the next reply."""
        return self.labelled(messages, reply_next=True).ids

    def between(self, messages: Sequence[WireMessage], *, ended: bool = False) -> list[int]:
        """Tokens between the last reply and the next one: the end mark, the user's message, the next prompt.

        Args:
            ended: the end mark is written already.
        """
        parts = self._parted(self._gaps(messages, reply_next=True)[-1], behind=True, before=True)
        return [token for part in parts for token in self._ids(part)][int(ended) :]

    @cached_property
    def closing(self) -> list[int]:
        """The template's tokens after a reply, its end mark first; [] if there are none."""
        return self._ids(self._closed[1])

    def labelled(self, messages: Sequence[WireMessage], *, reply_next: bool = False) -> Labelled:
        """Token ids of a whole conversation, with the assistant's own tokens marked.

        Args:
            reply_next: up to the start of the next reply.
        """
        replies = [str(each["content"]).strip() for each in messages if each["role"] == "assistant"]
        parts: list[tuple[list[int], bool]] = []
        for place, gap in enumerate(self._gaps(messages, reply_next=reply_next)):
            reply, before = replies[place - 1] if place else "", place < len(replies) or reply_next
            end, others, opening = self._parted(gap, behind=place > 0, before=before)
            for text, is_own in ((reply, True), (end, True), (others, False), (opening, True)):
                parts.append((self._ids(text), is_own))
        own = [is_own for tokens, is_own in parts for _ in tokens]
        return Labelled([token for tokens, _ in parts for token in tokens], own)

    def _parted(self, gap: str, *, behind: bool, before: bool) -> tuple[str, str, str]:
        """A gap in three: the end of the previous reply, others' words, the beginning of the next reply."""
        rest = gap.removesuffix(self._opening) if before else gap
        end = self._closed[1] if behind and rest.startswith(self._closed[1]) else ""
        return end, rest[len(end) :], gap[len(rest) :]

    def _gaps(self, messages: Sequence[WireMessage], *, reply_next: bool) -> list[str]:
        """The template's text before, between and after the replies."""
        slots: list[WireMessage] = [
            {"role": "assistant", "content": SLOT} if each["role"] == "assistant" else each for each in messages
        ]
        replies = [place for place, each in enumerate(slots) if each["role"] == "assistant"]
        gaps = []
        for number, place in enumerate([*replies, len(slots)]):
            last = place == len(slots)
            parts = self._parts(slots[:place], reply_next=reply_next or not last, replies=number)
            gaps.append(parts[-1] + ("" if last else self._extra))
        return gaps

    def _parts(self, messages: Sequence[WireMessage], *, replies: int, reply_next: bool = False) -> list[str]:
        """The template's text around slots."""
        parts = self._render(messages, reply_next=reply_next).split(SLOT)
        if len(parts) != replies + 1:
            raise LocalModelError("the base's chat template omits replies, so they can be neither read nor learned")
        return parts

    @cached_property
    def _closed(self) -> tuple[str, str]:
        """The template's text around a conversation's last reply."""
        messages: list[WireMessage] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": SLOT}]
        before, behind = self._parts(messages, replies=1)
        return before, behind

    @cached_property
    def _extra(self) -> str:
        """Text before a finished reply that the template leaves to the model in a prompt."""
        asked = self._render([{"role": "user", "content": "a"}], reply_next=True)
        return self._closed[0].removeprefix(asked) if self._closed[0].startswith(asked) else ""

    @cached_property
    def _opening(self) -> str:
        """Text at the start of the assistant's turn after its heading, such as an empty thought."""
        free = self._render([{"role": "user", "content": "a"}], reply_next=True, thinking=True)
        asked = self._render([{"role": "user", "content": "a"}], reply_next=True) + self._extra
        return asked.removeprefix(free) if asked.startswith(free) else ""

    def _render(self, messages: Sequence[WireMessage], *, reply_next: bool = False, thinking: bool = False) -> str:
        from jinja2 import TemplateError

        may_think = thinking or self.thinking
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=reply_next,
                enable_thinking=may_think,
                thinking=may_think,  # the same switch in other families
            )
        except TemplateError as error:
            raise LocalModelError(f"the base's chat template refuses a conversation: {error}") from None
        return str(text)

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []


def end_tokens(settings: Any, tokenizer: Any) -> tuple[int, ...]:
    """Ids of tokens that end a reply: the tokenizer's, and those in a model's generation settings."""
    named = settings.eos_token_id
    listed = named if isinstance(named, list) else [named]
    return tuple(dict.fromkeys(each for each in (tokenizer.eos_token_id, *listed) if each is not None))


def said(ids: Sequence[int], tokenizer: Any, ends: Sequence[int]) -> tuple[str, int]:
    """A reply's text and its length in tokens, without end marks and thoughts.

    A thought without an end leaves an empty reply.

    Args:
        ends: from `end_tokens`.
    """
    kept = [each for each in ids if each not in (*ends, tokenizer.pad_token_id)]
    whole = tokenizer.decode(kept, skip_special_tokens=True).strip()
    text = heard(whole)
    return (text, len(kept)) if text == whole else (text, len(tokenizer(text, add_special_tokens=False)["input_ids"]))
