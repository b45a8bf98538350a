"""The compact notation that the miniature's assistants write; `rendering` turns it into what people see.

```
draft subject heron colour navy size tiny      a complete piece: dimension and value, in the lexicon's order
show colour navy / teal / mint                 shown samples: alternatives of one dimension, really made
maybe colour navy / teal / mint ?              spoken options: alternatives that are only named
ask colour ?                                   a question that names a slot and no value
recap colour navy size tiny                    talk about what was made
pass                                           nothing of substance
```

One reply may hold several of these, one after the other.  Every word is one token: its dimension stands before each
value, wherever anyone says it, so that a small language model can learn to copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.miniature.lexicon import Lexicon

Verb = Literal["draft", "show", "maybe", "ask", "recap", "pass"]
VERBS: tuple[Verb, ...] = ("draft", "show", "maybe", "ask", "recap", "pass")
TOKENS_PER_WORD = 16  # one word of notation stands for about this many tokens of a real reply
COUNTING = f"notation words × {TOKENS_PER_WORD}"


class NotationError(DiscoverError):
    """A reply that is not in the notation (a "broken" reply of a language model); the message says where."""


@dataclass(frozen=True)
class Move:
    """One statement of a reply.  `values` are value ids; `dimension` is set for show, maybe and ask."""

    verb: Verb
    values: tuple[str, ...] = ()
    dimension: str | None = None


def write(moves: Iterable[Move], lexicon: Lexicon) -> str:
    """The notation of a reply."""
    return " ".join(_write_move(move, lexicon) for move in moves)


def _write_move(move: Move, lexicon: Lexicon) -> str:
    if move.verb in ("draft", "recap"):
        pairs = (f"{lexicon.values[value].dimension} {value}" for value in in_order(move.values, lexicon))
        return " ".join([move.verb, *pairs])
    if move.verb == "pass":
        return "pass"
    listed = " / ".join(in_order(move.values, lexicon))
    parts = [move.verb, str(move.dimension), *([listed] if listed else []), *(["?"] if move.verb != "show" else [])]
    return " ".join(parts)


def in_order(values: Iterable[str], lexicon: Lexicon) -> list[str]:
    """Values in the lexicon's order, each once: the order itself then tells a small model where it is."""
    return sorted(set(values), key=lexicon.rank.__getitem__)


def count_words(text: str) -> int:
    return len(text.split())


def parse(text: str, lexicon: Lexicon) -> tuple[Move, ...]:
    """Read a reply in the notation.

    Raises:
        NotationError: an unknown word, a value outside its dimension, fewer than two alternatives, an empty draft, or
            something made that is too broad to be made.
    """
    tokens = text.split()
    if not tokens:
        raise NotationError("the reply is empty")
    moves = []
    while tokens:
        verb = tokens.pop(0)
        if verb not in VERBS:
            raise NotationError(f"{verb!r} stands where a reply would begin with one of {', '.join(VERBS)}")
        end = next((at for at, token in enumerate(tokens) if token in VERBS), len(tokens))
        body, tokens = tokens[:end], tokens[end:]
        moves.append(_parse_move(verb, body, lexicon))
    return tuple(moves)


def is_notation(text: str) -> bool:
    """Whether a text is meant as notation: it opens with one of the verbs and a word that could follow it."""
    head = text.split(None, 1)[:1]
    return bool(head) and head[0] in VERBS


def _parse_move(verb: str, body: Sequence[str], lexicon: Lexicon) -> Move:
    if verb == "pass":
        if body:
            raise NotationError(f"{body[0]!r} follows 'pass'")
        return Move("pass")
    if verb == "draft":
        return Move("draft", _made(_parse_pairs("draft", body, lexicon), lexicon))
    if verb == "recap":
        return Move("recap", _parse_pairs("recap", body, lexicon))
    return _parse_alternatives(verb, body, lexicon)


def _parse_pairs(verb: str, body: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    if not body or len(body) % 2:
        raise NotationError(f"a {verb} is pairs of dimension and value, got {' '.join(body) or 'nothing'!r:.60}")
    values = []
    for dimension, value in zip(body[::2], body[1::2], strict=True):
        values.append(_checked(dimension, value, lexicon))
    values = list(dict.fromkeys(values))  # said twice it is still one thing, as among alternatives
    for name in {lexicon.values[value].dimension for value in values}:
        held = sum(lexicon.values[value].dimension == name for value in values)
        if held > lexicon.dimensions[name].holds:
            raise NotationError(f"{held} values of {name!r}; a piece holds at most {lexicon.dimensions[name].holds}")
    for one, two in combinations(values, 2):
        if two in lexicon.clashes.get(one, ()) and lexicon.values[one].dimension == lexicon.values[two].dimension:
            raise NotationError(f"{one!r} and {two!r} cannot be had together")
    return tuple(values)


def _parse_alternatives(verb: str, body: Sequence[str], lexicon: Lexicon) -> Move:
    body = list(body)
    if not body or body[0] not in lexicon.dimensions:
        raise NotationError(f"{verb!r} must name a dimension, got {' '.join(body[:1]) or 'nothing'!r}")
    dimension = body.pop(0)
    if verb in ("maybe", "ask"):
        if not body or body.pop() != "?":
            raise NotationError(f"{verb!r} must end with '?'")
    if verb == "ask":
        if body:
            raise NotationError(f"'ask' names no value, got {body[0]!r}")
        return Move("ask", dimension=dimension)
    if any(token != "/" for token in body[1::2]) or len(body) % 2 == 0:
        raise NotationError(f"alternatives are separated by '/', got {' '.join(body)!r:.60}")
    values = tuple(dict.fromkeys(_checked(dimension, value, lexicon) for value in body[::2]))
    if len(values) < 2:
        raise NotationError(f"{verb!r} needs at least two different alternatives")
    return Move("show", _made(values, lexicon), dimension) if verb == "show" else Move("maybe", values, dimension)


def _made(values: tuple[str, ...], lexicon: Lexicon) -> tuple[str, ...]:
    """Only the most specific values can be made; broader ones can only be talked about."""
    for value in values:
        if not lexicon.values[value].is_leaf:
            raise NotationError(f"{value!r} is too broad to be made")
    return values


def _checked(dimension: str, value: str, lexicon: Lexicon) -> str:
    known = lexicon.values.get(value)
    if dimension not in lexicon.dimensions:
        raise NotationError(f"{dimension!r} is not a dimension")
    if known is None or known.dimension != dimension:
        raise NotationError(f"{value!r} is not a value of {dimension!r}")
    return value
