"""The tiny language model's language: its words, its tokenizer, and the form of its conversations.

The model reads and writes the compact notation (`notation`), with one token per word.  The lexicon's parser
(`reading.read_user`) turns each user message into a transcript of a few words:

```
want subject bird colour navy       requested plainly
like subject heron                  approved
hint setting waterside              another value near this one is wanted
doubt setting                       this dimension is not right yet
something                           the parser found no usable word: "something is missing"
final                               the user requests the finished artifact
```

The parser is not part of the model's training.  The model understands no English.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from discover_lib.core.conversation import Message, Reply
from discover_lib.engines.miniature.lexicon import LexiconError, load_lexicon
from discover_lib.engines.miniature.notation import COUNTING, VERBS, NotationError, count_tokens, parse
from discover_lib.engines.miniature.reading import UserReading, believe, read_user
from discover_lib.engines.miniature.rendering import make_reply

PAD, UNKNOWN, END, USER, ASSISTANT = "<pad>", "<unk>", "<e>", "<u>", "<a>"
HEARD = ("want", "like", "hint", "doubt", "something", "final")
MAX_TOKENS = 512  # of a conversation; five turns and a final artifact need fewer than 300
MAX_REPLY_TOKENS = 56  # more than the longest draft with samples
BROKEN = "(a reply that cannot be read)"  # replaces broken notation; it shows no value

# Speaker marks carry no loss.  The marked part must not begin with a blank, where a whitespace tokenizer has no token.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ message['content'] }}"
    "{% elif message['role'] == 'user' %}{{ ' <u> ' + message['content'] + ' <e>' }}"
    "{% else %}{{ ' <a> ' }}{% generation %}{{ message['content'] + ' <e>' }}{% endgeneration %}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' <a> ' }}{% endif %}"
)


@dataclass(frozen=True)
class Vocabulary:
    """All words of a model; a word's place is its token id.

    A word of several domains is one token.  The domain at the start of the conversation decides its meaning.
    """

    domains: tuple[str, ...]
    words: tuple[str, ...]

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Word → token id."""
        return {word: place for place, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """Token ids of words separated by blanks."""
        unknown = self.ids[UNKNOWN]
        return [self.ids.get(word, unknown) for word in text.split()]


@lru_cache(maxsize=8)
def vocabulary(domains: tuple[str, ...]) -> Vocabulary:
    """The words of some domains: marks, verbs, words of transcripts, dimensions and values.

    Raises:
        LexiconError: an unknown domain, or a value that shares its name with a mark or a verb.
    """
    reserved = (PAD, UNKNOWN, END, USER, ASSISTANT, *VERBS, "/", "?", *HEARD, *domains)
    words = dict.fromkeys(reserved)
    for domain in domains:
        lexicon = load_lexicon(domain)
        for word in (*lexicon.dimensions, *lexicon.values):
            if word in reserved:
                raise LexiconError(f"{domain}: {word!r} is a word of the notation; give the value another id")
            words[word] = None
    return Vocabulary(domains, tuple(words))


# -- the tokenizer as files -----------------------------------------------------------------------------------------


def save_tokenizer(words: Vocabulary, folder: Path) -> None:
    """Write the tokenizer files of a model, as `AutoTokenizer.from_pretrained(folder)` reads them."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel(dict(words.ids), unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        unk_token=UNKNOWN,
        padding_side="left",
        model_max_length=MAX_TOKENS,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )
    fast.save_pretrained(folder)


# -- input and output of the model ----------------------------------------------------------------------------------


def encode_messages(messages: Iterable[Message | Mapping[str, Any]], domain: str) -> list[dict[str, str]]:
    """A conversation as input of the chat template: the domain, then transcripts and notation in turn.

    Args:
        messages: records, or mappings with role and content from a training row.  System messages are omitted.
        domain: of the artifact.
    """
    wire = [{"role": "system", "content": domain}]
    for each in messages:
        message = each if isinstance(each, Message) else Message(each["role"], each["content"])
        if message.role == "user":
            wire.append({"role": "user", "content": transcript(read_user(message.content, domain), domain)})
        elif message.role == "assistant":
            wire.append({"role": "assistant", "content": message.notation or as_notation(message.content)})
    return wire


def transcript(reading: UserReading, domain: str) -> str:
    """The transcript of a user's message, in the model's words."""
    lexicon = load_lexicon(domain)
    parts: list[str] = []
    for word, values in (("want", reading.wanted), ("like", reading.liked), ("hint", reading.hinted)):
        if values:
            parts += [word, *(f"{lexicon.values[value].dimension} {value}" for value in values)]
    if reading.doubted:
        parts += ["doubt", *reading.doubted]
    if reading.final:
        parts.append("final")
    elif not reading.wanted and not reading.doubted:
        parts.append("something")
    return " ".join(parts)


def as_notation(text: str) -> str:
    """A reply in the notation: unchanged if it is notation; a reply in other words counts as `pass`."""
    said = text.split()
    return " ".join(said) if said and said[0] in VERBS else "pass"


def decode(text: str, domain: str, messages: Sequence[Message] = (), assistant: str = "") -> Reply:
    """The model's words as a reply: rendered if they are notation, else `BROKEN`.  The words stay in `notation`.

    Args:
        messages: the conversation before it.  Drawn samples contain its agreed values.
    """
    lexicon = load_lexicon(domain)
    written = " ".join(text.split())
    try:
        moves = parse(written, lexicon)
    except NotationError:
        return Reply(BROKEN, count_tokens(written or "pass"), COUNTING, assistant, written)
    known = believe(messages, lexicon).sampled_with() if any(move.verb == "show" for move in moves) else ()
    reply = make_reply(moves, lexicon, assistant, known, request=messages[0].content if messages else "")
    return dataclasses.replace(reply, n_tokens=count_tokens(written))  # repetitions count


def is_broken(reply: Reply) -> bool:
    """Whether a reply broke the notation, or is empty."""
    return reply.text.strip() in ("", BROKEN)
