"""How a model is spoken to and understood: plain chat, or the miniature's notation.

Everything else in training is blind to it: rows go in through `encode`, completions come out through `decode`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json
from discover_lib.base.tokens import WireMessage
from discover_lib.core.conversation import Candidate, Message, Reply, Text
from discover_lib.metrics.behaviour import Behaviour

TINY, PREFIX = "tiny", "hf:"  # names of models on this machine: see `engines.local.names`
CARD = "tiny.json"  # marks a folder as a tiny model's, which speaks the notation, and says what was measured of it
Spoken = Message | Mapping[str, Any]


class LocalModelError(DiscoverError):
    """A name or folder that is no usable model; one line that says what to do."""


@dataclass(frozen=True)
class PlainChat:
    """Ordinary chat models: text in, text out, lengths in the model's own tokens.

    Attributes:
        text: which form of the assistant's turns the training rows must hold.
    """

    base: str
    system: str = ""
    text: Text = "content"

    def encode(self, messages: Sequence[Spoken], domain: str) -> list[WireMessage]:
        """A conversation as the chat template takes it."""
        wire = [_wire(each) for each in messages]
        if self.system and wire and wire[0]["role"] == "user":
            return [{"role": "system", "content": self.system}, *wire]
        return wire

    def decode(self, text: str, n_tokens: int, domain: str, messages: Sequence[Message]) -> Reply:
        """What the model said, after `messages`, in `n_tokens` of its own tokens without the end mark."""
        return Reply(text, n_tokens, f"tokenizer of {self.base}", "policy")

    def is_broken(self, reply: Reply) -> bool:
        """Whether the reply does not hold to the language."""
        return not reply.text.strip()


@dataclass(frozen=True)
class Notation:
    """The tiny language model's: see `discover_lib.engines.local.tiny_language`."""

    text: Text = "notation"

    def encode(self, messages: Sequence[Spoken], domain: str) -> list[WireMessage]:
        from discover_lib.engines.local.tiny_language import encode_messages

        return encode_messages(messages, domain)

    def decode(self, text: str, n_tokens: int, domain: str, messages: Sequence[Message]) -> Reply:
        from discover_lib.engines.local.tiny_language import decode

        return decode(text, domain, messages, "policy")

    def is_broken(self, reply: Reply) -> bool:
        from discover_lib.engines.local.tiny_language import is_broken

        return is_broken(reply)


Dialect = PlainChat | Notation


def dialect_of(base: str, system: str = "") -> Dialect:
    """The dialect of a base model, by what lies in its folder."""
    return Notation() if is_tiny(base) else PlainChat(base, system)


def is_tiny(folder: str | Path) -> bool:
    """Whether a model's folder holds a tiny model."""
    return (Path(folder) / CARD).is_file()


def read_card(folder: str | Path) -> dict[str, Any]:
    """What is known of a tiny model, its domains at least; {} if the folder holds another model.

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
    """The domains that a tiny model knows; None for other models.

    One whose lexicon has come to hold words that the model has no token for is not among them any more.

    Raises:
        LocalModelError: its card is damaged.
    """
    from discover_lib.engines.local.tiny_language import lacks_words

    domains = read_card(folder).get("domains")
    return None if domains is None else tuple(name for name in domains if not lacks_words(Path(folder), name))


def behaviour(candidate: Candidate, domain: str) -> Behaviour | None:
    """What a judged reply mainly does: open up, or build.

    In the miniature's domains by what the reply shows; elsewhere a piece counts as building and talk as opening up.
    """
    if candidate.evaluation is None:
        return None
    if domain:
        from discover_lib.engines.miniature.lexicon import load_lexicon
        from discover_lib.engines.miniature.reading import read_reply
        from discover_lib.engines.miniature.scoring import behaviour_of

        return behaviour_of(1, read_reply(candidate.reply.text, domain), load_lexicon(domain)).behaviour
    return "convergent" if candidate.evaluation.kind == "artifact" else "divergent"


def is_local(assistant: str) -> bool:
    """Whether an assistant's name means a model on this machine."""
    return assistant == TINY or assistant.startswith(PREFIX)


def heard(text: str) -> str:
    """What of an assistant's words is no thought, by the rule for models behind an API; "" of a thought without end."""
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
