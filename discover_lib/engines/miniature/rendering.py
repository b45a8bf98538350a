"""From notation to the real thing: drawings, prose and code that people, judges and exports see.

The rendering of a value shows that value and no other; `reading` gets it back out by looking at the rendering alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from textwrap import indent

from discover_lib.core.conversation import Reply
from discover_lib.engines.miniature import notation
from discover_lib.engines.miniature.lexicon import DRAWN, Form, Lexicon, load_lexicon
from discover_lib.engines.miniature.notation import COUNTING, Move, NotationError, in_order

LINES_PER_PARAGRAPH = 3
_ARTICLE = re.compile("^(?:an?|the|some|something on) ")
PLAIN = {  # what is said around a move, by its verb
    "draft": "Here is a {piece}.",
    "show": "Here are a few small samples.",
    "maybe": "For {aspect}, would you prefer {first} or {last}?",
    "ask": "What would you want for {aspect}?",
    "recap": "To go through it once more: {all}.",
    "pass": "All right.",
}


def is_drawn(domain: str) -> bool:
    return domain == DRAWN


def render_artifact(values: Iterable[str], lexicon: Lexicon) -> str:
    """A finished piece that realises exactly these leaf values: an SVG, a text or a program."""
    return _rendered(lexicon.domain, tuple(in_order(values, lexicon)))


@lru_cache(maxsize=4096)
def _rendered(domain: str, values: tuple[str, ...]) -> str:
    if is_drawn(domain):
        from discover_lib.engines.miniature.svg.draw import draw

        return draw(values)
    lexicon = load_lexicon(domain)
    if lexicon.form:
        return _framed(values, lexicon.form, lexicon)
    lines = [lexicon.values[value].line for value in values]
    starts = range(0, len(lines), LINES_PER_PARAGRAPH)
    paragraphs = [" ".join(lines[start : start + LINES_PER_PARAGRAPH]) for start in starts]
    return "\n\n".join([f"# {_title_of(values, lexicon)}", *paragraphs])


def _framed(values: Sequence[str], form: Form, lexicon: Lexicon) -> str:
    """The form's frame with the lines of every part in their place."""
    slots = {}
    for name, part in form.parts.items():
        own = [lexicon.values[each] for each in values]
        lines = [value.line for value in own if lexicon.dimensions[value.dimension].part == name]
        items = [part.item.replace("$n", str(n)).replace("$line", line) for n, line in enumerate(lines, start=1)]
        slots[f"${name}"] = part.joint.join(items)
    rows = []
    for row in form.frame.replace("$title", _title_of(values, lexicon)).splitlines():
        filling = slots.get(row.strip())
        if filling is None:
            rows.append(row)
        elif filling:
            rows.append(indent(filling, row[: row.index("$")]))
    return "\n".join(rows).strip()


def _title_of(values: Sequence[str], lexicon: Lexicon) -> str:
    """The piece's title: what is said of the first value that a request would name."""
    asked = [value for value in values if lexicon.dimensions[lexicon.values[value].dimension].asked]
    first = lexicon.values[[*asked, *values][0]]
    return first.title or _ARTICLE.sub("", first.say).capitalize()


def render_moves(
    moves: Sequence[Move], lexicon: Lexicon, known: Iterable[str] = (), frames: Mapping[str, str] = PLAIN
) -> str:
    """What people see of a reply.

    Args:
        known: leaf values that the user has asked for or liked; drawn samples carry them, so that alternatives differ
            in one thing only.
        frames: what is said around a move, by its verb.
    """
    return "\n\n".join(_render_move(move, lexicon, tuple(known), frames[move.verb]) for move in moves)


def _render_move(move: Move, lexicon: Lexicon, known: tuple[str, ...], frame: str) -> str:
    named = list(dict.fromkeys(move.values)) if move.verb in ("maybe", "recap") else []
    say = [lexicon.values[value].say for value in named]
    said = frame.format(
        piece="drawing" if is_drawn(lexicon.domain) else "draft",
        aspect=lexicon.dimensions[move.dimension].aspect if move.dimension else "",
        first=", ".join(say[:-1]),
        last="".join(say[-1:]),
        all=", ".join(say),
    )
    if move.verb == "draft":
        return f"{said}\n\n{_exhibit(render_artifact(move.values, lexicon), lexicon)}"
    if move.verb == "show":
        shown = [_sample(value, lexicon, known) for value in move.values]
        labelled = [f"{letter}.\n\n{sample}" for letter, sample in zip("ABCDEFGH", shown, strict=False)]
        return "\n\n".join([said, *labelled])
    return said


def _sample(value: str, lexicon: Lexicon, known: tuple[str, ...]) -> str:
    if not is_drawn(lexicon.domain):
        return _exhibit(lexicon.values[value].line, lexicon)
    return _exhibit(render_artifact(lexicon.that_fit([value, *known]), lexicon), lexicon)


def _exhibit(text: str, lexicon: Lexicon) -> str:
    """Mark off what was made from what is said about it: drawings and code are fenced, prose is quoted."""
    language = "svg" if is_drawn(lexicon.domain) else lexicon.form.language if lexicon.form else ""
    if language:
        return f"```{language}\n{text}\n```"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def make_reply(
    moves: Sequence[Move],
    lexicon: Lexicon,
    assistant: str,
    known: Iterable[str] = (),
    frames: Mapping[str, str] = PLAIN,
) -> Reply:
    """A `Reply` that carries both forms, its length counted on the notation."""
    written = notation.write(moves, lexicon)
    said = render_moves(moves, lexicon, known, frames)
    return Reply(said, notation.count_tokens(written), COUNTING, assistant, written)


def typed_reply(text: str, lexicon: Lexicon, known: Iterable[str] = ()) -> str | Reply:
    """What a person typed: rendered if it is notation, as it stands otherwise."""
    try:
        return make_reply(notation.parse(text.strip(), lexicon), lexicon, "you", known)
    except NotationError:
        return text
