"""The compact notation that the miniature's assistants write; `rendering` turns it into what people see.

```
draft subject heron colour navy size tiny      a draft: dimension and value, in the lexicon's order
show colour navy / teal / mint                 shown samples: alternatives of one dimension, really made
maybe colour navy / teal / mint ?              spoken options: alternatives that are only named
ask colour ?                                   a question that names a slot and no value
recap colour navy size tiny                    talk about what was made
pass                                           nothing of substance
```

A reply is one or several of these in a row.  Every word is one token.  The dimension comes before each value, so that a
small language model can learn to copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.miniature.lexicon import Lexicon

Verb = Literal["draft", "show", "maybe", "ask", "recap", "pass"]
VERBS: tuple[Verb, ...] = ("draft", "show", "maybe", "ask", "recap", "pass")
TOKENS_PER_WORD = 16  # one word of notation stands for about this many tokens of a real reply
COUNTING = f"notation words × {TOKENS_PER_WORD}"


class NotationError(DiscoverError):
    """A reply that is not in the notation (a "broken" reply of a language model); the message says where."""


class Move(NamedTuple):
    """One statement of a reply.  `values` are value ids; `dimension` is set for show, maybe and ask."""

    verb: Verb
    values: tuple[str, ...] = ()
    dimension: str | None = None


def write(moves: Iterable[Move], lexicon: Lexicon) -> str:
    """The notation of a reply."""
    return " ".join(_write_move(move, lexicon) for move in moves)


def _write_move(move: Move, lexicon: Lexicon) -> str:
    values = in_order(move.values, lexicon)
    if move.dimension is None:
        return " ".join([move.verb, *(f"{lexicon.values[value].dimension} {value}" for value in values)])
    listed = [" / ".join(values)] if values else []
    return " ".join([move.verb, move.dimension, *listed, *([] if move.verb == "show" else ["?"])])


def in_order(values: Iterable[str], lexicon: Lexicon) -> list[str]:
    """Values in the lexicon's order, each once: the order itself then tells a small model where it is."""
    return sorted(set(values), key=lexicon.rank.__getitem__)


def count_tokens(written: str) -> int:
    """How long a reply counts as, by its notation."""
    return len(written.split()) * TOKENS_PER_WORD


def parse(text: str, lexicon: Lexicon) -> tuple[Move, ...]:
    """Read a reply in the notation.

    Raises:
        NotationError: an unknown word, a value outside its dimension, fewer than two alternatives, an empty draft, or
            something made that is too broad to be made.
    """
    tokens = text.split()
    if not tokens or tokens[0] not in VERBS:
        raise NotationError(f"a reply begins with one of {', '.join(VERBS)}, not with {text[:60]!r}")
    starts = [at for at, token in enumerate(tokens) if token in VERBS]
    parts = [tokens[start:end] for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True)]
    return tuple(_parse_move(verb, body, lexicon) for verb, *body in parts)


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
    pairs = zip(body[::2], body[1::2], strict=True)
    values = tuple(dict.fromkeys(_checked(*pair, lexicon) for pair in pairs))  # said twice it is still one thing
    for name in {lexicon.values[value].dimension for value in values}:
        held = sum(lexicon.values[value].dimension == name for value in values)
        if held > lexicon.dimensions[name].holds:
            raise NotationError(f"{held} values of {name!r}; a piece holds at most {lexicon.dimensions[name].holds}")
    for one, two in combinations(values, 2):
        if two in lexicon.clashes.get(one, ()) and lexicon.values[one].dimension == lexicon.values[two].dimension:
            raise NotationError(f"{one!r} and {two!r} cannot be had together")
    return values


def _parse_alternatives(verb: str, body: Sequence[str], lexicon: Lexicon) -> Move:
    if not body or body[0] not in lexicon.dimensions:
        raise NotationError(f"{verb!r} must name a dimension, got {' '.join(body[:1]) or 'nothing'!r}")
    dimension, *listed = body
    if verb != "show" and (not listed or listed.pop() != "?"):
        raise NotationError(f"{verb!r} must end with '?'")
    if verb == "ask" and not listed:
        return Move("ask", dimension=dimension)
    if verb == "ask" or any(token != "/" for token in listed[1::2]) or len(listed) % 2 == 0:
        raise NotationError(f"{verb!r} is not followed by {' '.join(listed)!r:.60}; alternatives are separated by '/'")
    values = tuple(dict.fromkeys(_checked(dimension, value, lexicon) for value in listed[::2]))
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
    if known is None or known.dimension != dimension:
        raise NotationError(f"{value!r} is not a value of {dimension!r}")
    return value
