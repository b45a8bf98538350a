"""Rendering of the notation: drawings, prose and code that people, judges and exports see.

The rendering of a value shows that value and no other; `reading` gets it back out by looking at the rendering alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from textwrap import indent

from discover_lib.base.seeds import unit_uniform
from discover_lib.core.conversation import Reply
from discover_lib.engines.miniature import notation
from discover_lib.engines.miniature.lexicon import DRAWN, PRONOUN, Form, Layout, Lexicon, Value, load_lexicon
from discover_lib.engines.miniature.notation import COUNTING, Move, NotationError, in_order

LINES_PER_PARAGRAPH = 3
_ARTICLE = re.compile("^(?:an?|the|some|something (?:on|in)) ")
_SLOT = re.compile(r"\$(\w+)")
PLAIN = {  # what is said around a move, by its verb
    "draft": "Here is a {artifact}.",
    "show": "Here are a few small samples.",
    "maybe": "For {aspect}, would you prefer {first} or {last}?",
    "ask": "What would you want for {aspect}?",
    "recap": "To go through it once more: {all}.",
    "pass": "All right.",
}


def is_drawn(domain: str) -> bool:
    return domain == DRAWN


def render_artifact(values: Iterable[str], lexicon: Lexicon) -> str:
    """A finished artifact that shows exactly these leaf values: an SVG, a text or a program.  Seeds depend on it."""
    return _rendered(lexicon.domain, tuple(in_order(values, lexicon)))


@lru_cache(maxsize=4096)
def _rendered(domain: str, values: tuple[str, ...]) -> str:
    lexicon = load_lexicon(domain)
    if is_drawn(domain):
        from discover_lib.engines.miniature.svg.draw import draw

        return draw(values)
    if lexicon.form:
        return _framed(values, lexicon.form, lexicon)
    return _paragraphs(_title_of(values, lexicon), [lexicon.values[value].line for value in values])


def _paragraphs(title: str, lines: Sequence[str]) -> str:
    starts = range(0, len(lines), LINES_PER_PARAGRAPH)
    paragraphs = [" ".join(lines[start : start + LINES_PER_PARAGRAPH]) for start in starts]
    return "\n\n".join([f"# {title}", *paragraphs])


@lru_cache(maxsize=4096)
def _told(domain: str, values: tuple[str, ...], hero: str) -> str:
    """An artifact as a reply tells it: about the user's hero, and laid out as its structure says."""
    lexicon = load_lexicon(domain)
    if is_drawn(domain) or lexicon.form:
        return _rendered(domain, values)
    title = _bare(_first_asked(values, lexicon).say)
    title = title[0].upper() + title[1:]
    lines = {value: line_told(lexicon.values[value], hero) for value in values}
    layout = next((layout for value in values if (layout := lexicon.values[value].layout)), None)
    if layout is None:
        return _paragraphs(title, [*lines.values()])
    parts: dict[str, list[str]] = {"lead": [], "": [], "end": []}
    for value in values:
        parts[lexicon.dimensions[lexicon.values[value].dimension].part].append(value)
    lead, end = (" ".join(lines[value] for value in parts[name]) for name in ("lead", "end"))
    middle = _laid_out([(value, lines[value]) for value in parts[""]], layout, lexicon)
    return "\n\n".join(filter(None, (f"# {title}", lead, middle, end)))


def _laid_out(lines: Sequence[tuple[str, str]], layout: Layout, lexicon: Lexicon) -> str:
    """The middle of an article, in its layout."""
    told = [(_bare(lexicon.values[value].say).capitalize(), value, line) for value, line in lines]
    if layout.sorted:
        told.sort(key=itemgetter(0))
    items, form = [], _SLOT.sub(r"%(\1)s", layout.item.replace("%", "%%"))
    for n, (term, value, line) in enumerate(told):
        slots = {
            "line": line,
            "n": n + 1,
            "label": layout.labels[n % len(layout.labels)] if layout.labels else "",
            "term": term,
            "question": lexicon.dimensions[lexicon.values[value].dimension].question,
        }
        items.append(form % slots)
    rows = ["".join(items[start : start + layout.row]) for start in range(0, len(items), layout.row)]
    return layout.head + layout.joint.join(f"{row}|" if layout.row > 1 else row for row in rows)


_PRONOUNS = {
    "they": {"they": "they", "them": "them", "their": "their", "theirs": "theirs"},
    "she": {"they": "she", "them": "her", "their": "her", "theirs": "hers"},
    "he": {"they": "he", "them": "him", "their": "his", "theirs": "his"},
}


def hero_of(request: str, lexicon: Lexicon) -> str:
    """The hero that a user's stories are about, drawn from the user's first request; "" where there are no heroes."""
    heroes = lexicon.heroes
    return heroes[int(unit_uniform("hero", request) * len(heroes))] if heroes else ""


@lru_cache(maxsize=8192)  # the lines of a lexicon, told of each of its heroes
def line_told(value: Value, hero: str) -> str:
    """The line of a value as a reply tells it to a user with this hero."""
    line = value.told or value.line
    if not hero:
        return line
    name, _, pronoun = hero.partition(" ")
    return PRONOUN.sub(lambda found: _PRONOUNS[pronoun][found[1]], line).replace("Wren", name)


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


def _first_asked(values: Sequence[str], lexicon: Lexicon) -> Value:
    """The first value that a request would name, which gives an artifact its title."""
    asked = [value for value in values if lexicon.dimensions[lexicon.values[value].dimension].asked]
    return lexicon.values[[*asked, *values][0]]


def _title_of(values: Sequence[str], lexicon: Lexicon) -> str:
    first = _first_asked(values, lexicon)
    return (first.title or _bare(first.say)).capitalize()


@lru_cache(maxsize=4096)
def _bare(phrase: str) -> str:
    """A noun phrase without its article."""
    return _ARTICLE.sub("", phrase)


def _render_move(move: Move, lexicon: Lexicon, known: tuple[str, ...], frame: str, hero: str) -> str:
    named = list(dict.fromkeys(move.values)) if move.verb in ("maybe", "recap") else []
    say = [lexicon.values[value].say for value in named]
    said = frame.format(
        artifact="drawing" if is_drawn(lexicon.domain) else "draft",
        aspect=lexicon.dimensions[move.dimension].aspect if move.dimension else "",
        first=", ".join(say[:-1]),
        last="".join(say[-1:]),
        all=", ".join(say),
    )
    if move.verb == "draft":
        artifact = _told(lexicon.domain, tuple(in_order(move.values, lexicon)), hero)
        return f"{said}\n\n{_exhibit(artifact, lexicon)}"
    if move.verb == "show":
        shown = [_sample(value, lexicon, known, hero) for value in move.values]
        labelled = [f"{letter}.\n\n{sample}" for letter, sample in zip("ABCDEFGH", shown, strict=False)]
        return "\n\n".join([said, *labelled])
    return said


def _sample(value: str, lexicon: Lexicon, known: tuple[str, ...], hero: str) -> str:
    if not is_drawn(lexicon.domain):
        return _exhibit(line_told(lexicon.values[value], hero), lexicon)
    return _exhibit(render_artifact(lexicon.that_fit([value, *known]), lexicon), lexicon)


def _exhibit(text: str, lexicon: Lexicon) -> str:
    """Mark off what was made from what is said about it: drawings and code are fenced, prose is quoted."""
    language = "svg" if is_drawn(lexicon.domain) else lexicon.form.language if lexicon.form else ""
    if language:
        return f"```{language}\n{text}\n```"
    return "\n".join([f"> {line}".rstrip() for line in text.splitlines()])


def make_reply(
    moves: Sequence[Move],
    lexicon: Lexicon,
    assistant: str,
    known: Iterable[str] = (),
    frames: Mapping[str, str] = PLAIN,
    request: str = "",
) -> Reply:
    """A `Reply` that carries both forms, its length counted on the notation.

    Args:
        known: leaf values that the user has asked for or liked; drawn samples carry them, so that alternatives differ
            in one thing only.
        frames: what is said around a move, by its verb.
        request: the user's first message; stories keep to the hero that it draws.
    """
    written, hero, carried = notation.write(moves, lexicon), hero_of(request, lexicon), tuple(known)
    said = "\n\n".join(_render_move(move, lexicon, carried, frames[move.verb], hero) for move in moves)
    return Reply(said, notation.count_tokens(written), COUNTING, assistant, written)


def typed_reply(text: str, lexicon: Lexicon, request: str = "") -> str | Reply:
    """A reply that a person typed: rendered if it is notation, unchanged otherwise."""
    try:
        return make_reply(notation.parse(text.strip(), lexicon), lexicon, "you", request=request)
    except NotationError:
        return text
