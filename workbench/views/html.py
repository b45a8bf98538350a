"""HTML for people: one way to make an element, the furniture of pages, and texts and drawings that nobody vouches for.

What is `Markup` is finished and safe; what is `str` is a text, and `tag` escapes it.  Functions that put fragments
together take `Markup`, so that a text which was never escaped is an error of types.  `styled` adds the one stylesheet:
a notebook shows ``mo.Html(styled(chat(conversation), receipt(...)))``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from discover_lib.base.glossary import TERMS
from discover_lib.base.json_text import whole_characters
from discover_lib.base.svg import SvgError, svg_data_uri
from discover_lib.core.conversation import Artifact

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt

EMPTY = Markup()
_INDEXED = re.compile(r"\b([A-Z])_([a-z])\b")
_thread = threading.local()  # a served notebook is a thread: what one page has, another may lack
_VOID = frozenset(("br", "img", "input"))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element: children that are not `Markup` are texts and escaped, as the values of attributes are.

    Args:
        attributes: `class_` is written class and `data_turn` data-turn; None and False leave an attribute out, True
            writes its name alone.
    """
    opening = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{''.join(map(escape, children))}</{name}>")


def in_tokens(count: float, unit: str) -> str:
    """A length, and how it was counted where no model's own count is known: "305 tokens (words × 4/3)"."""
    return f"{count:,g} {unit}" if unit == "tokens" else f"{count:,g} tokens ({unit})"


def subscripts(text: str) -> Markup:
    """A text with the indices of its symbols set below: R<sub>d</sub> for R_d."""
    return Markup(_INDEXED.sub(r"\1<sub>\2</sub>", str(escape(text))))


def joined(fragments: Iterable[Markup]) -> Markup:
    """Finished fragments one after the other."""
    return Markup("".join(fragments))


@cache
def static_text(name: str) -> str:
    """A text file of `workbench/views/static`."""
    return (files("workbench.views") / "static" / name).read_text(encoding="utf-8")


@cache
def templates() -> Environment:
    """The templates of `views/static`: values are escaped unless they are `Markup`; a missing value is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("workbench.views", "static")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    known = (chip, error_line, explained, more, quiet, rich_text, signed, subscripts, term)
    made.globals |= {each.__name__: each for each in known}
    return made


def part(name: str, *values: Any) -> Markup:
    """A macro of `static/parts.jinja` with its values."""
    return Markup(getattr(templates().get_template("parts.jinja").module, name)(*values))


def styled(*fragments: Markup) -> str:
    """Fragments ready to be shown: wrapped in the class that carries the colours, with the stylesheet."""
    sheet = "" if getattr(_thread, "page_has_sheet", False) else f"<style>{static_text('workbench.css')}</style>"
    return f'{sheet}<div class="dl">{whole_characters(joined(fragments))}</div>'


def leave_out_sheet() -> None:
    """From now on `styled` adds no stylesheet in this thread: the page that it makes has it in its head."""
    _thread.page_has_sheet = True


# -- page furniture ----------------------------------------------------------------------------------------------------


def signed(value: float) -> str:
    """A reward with its sign and at most four decimals: `+1`, `−0.135`, `+0`."""
    digits = f"{abs(value):.4f}".rstrip("0").rstrip(".")
    return ("−" if value < 0 and digits != "0" else "+") + digits


def error_line(text: str) -> Markup:
    """One clear line that says what is wrong; announced by screen readers."""
    return tag("p", text, class_="dl-error", role="alert")


def number_mark(number: int | None) -> Markup:
    """A small number that stands in two places and links them; nothing for None."""
    return EMPTY if number is None else tag("b", str(number), class_="dl-number")


def quiet(text: str, small: bool = False) -> Markup:
    """A paragraph that stands back."""
    return tag("p", text, class_="dl-quiet dl-small" if small else "dl-quiet")


def notice(*content: str, tone: str | None = None) -> Markup:
    """A line that is to be seen first; `tone` is warn, open or none."""
    return tag("p", *content, class_="dl-told", data_tone=tone, role="alert" if tone == "warn" else None)


def chip(text: str, tone: str = "plain", title: str | None = None) -> Markup:
    return tag("span", text, class_="dl-chip", data_tone=tone, title=title)


def term(name: str, text: str = "") -> Markup:
    """A word of the glossary, written `text` if it is given: its meaning shows where it is pointed at or focused.

    Raises:
        KeyError: the glossary has no such word.
    """
    return explained(text or name, TERMS[name].meaning)


def explained(text: str, sentence: str) -> Markup:
    """A word with a sentence about it, for the pointer and for the keyboard."""
    return tag("abbr", subscripts(text), class_="dl-term", title=sentence, tabindex=0)


def hidden(text: str) -> Markup:
    """Words for screen readers alone."""
    return tag("span", text, class_="dl-sr")


def code(text: str, *classes: str) -> Markup:
    return tag("pre", text, class_=" ".join(("dl-code", *classes)), tabindex=0)  # it scrolls where it is long


def more(summary: str, *content: Markup) -> Markup:
    """What can be unfolded."""
    return tag("details", tag("summary", summary), *content, class_="dl-more")


def progress(share: float) -> Markup:
    """A bar that is filled from 0 to 1."""
    return tag("div", tag("i", style=f"width:{min(1.0, share):.1%}"), class_="dl-progress")


def panel(title: str, *fragments: Markup, latest: bool = False) -> Markup:
    """Fragments under a heading, in a frame; with `latest` it is a window that keeps to its end."""
    body = joined(fragments)
    if latest:
        body = tag("div", tag("div", body), class_="dl-latest", tabindex=0, role="region", aria_label=title)
    return tag("section", tag("h3", title, class_="dl-panel-title"), body, class_="dl-panel")


def beside(*fragments: Markup) -> Markup:
    """Fragments next to each other where there is room, else one below the other."""
    return tag("div", *(tag("div", joined([each])) for each in fragments), class_="dl-beside")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", class_: str | None = None) -> Markup:
    """A table of texts and fragments in a frame that scrolls sideways, by keyboard too."""
    columns = (tag("th", text, scope="col") for text in head)
    body = (tag("tr", *(tag("td", cell) for cell in row)) for row in rows)
    title = tag("caption", caption) if caption else EMPTY
    whole = tag("table", title, tag("thead", tag("tr", *columns)), tag("tbody", *body), class_=class_)
    return tag("div", whole, class_="dl-scroll", tabindex=0)


# -- texts and drawings ------------------------------------------------------------------------------------------------

_BLOCK = re.compile(r"```[ \t]*(?P<lang>\w*)[^\n]*\n(?P<code>.*?)(?:\n?```|\Z)|(?P<svg><svg\b.*?</svg\s*>)", re.DOTALL)
_CODE_TYPE = re.compile(r"\b(?:code|component)\b", re.IGNORECASE)
_OPTION_LABEL = re.compile(r"^(?:\*\*)?(?:option\s+)?(?:[A-Z]|\d{1,2})[.):]", re.IGNORECASE)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?){2,}", re.MULTILINE)
_BULLET = re.compile(r"^(\s*)•(?=\s)", re.MULTILINE)
# Neither links nor images nor HTML: what a model writes must not make a page ask anybody for anything.
_MARKDOWN_RULES = ("blockquote", "heading", "list", "table", "backticks", "emphasis", "newline")


def rich_text(text: str) -> Markup:
    """A message as HTML: paragraphs, light markdown, and drawings where they were said.

    Of markdown only headings, lists, quotes (one deep), bold, emphasis and code are read; single line breaks stay,
    since poems and lyrics need them.  An SVG, fenced or bare, becomes a picture; drawings that follow each other stand
    side by side, a label such as "A. Rings" becoming the caption.
    """
    parts: list[Markup] = []
    figures: list[Markup] = []
    position = 0
    for match in [*_BLOCK.finditer(text), None]:
        between = text[position : match.start() if match else len(text)]
        svg = _svg_of(match)
        before, caption = _split_caption(between) if svg else (between, "")
        if figures and (before.strip() or svg is None):
            parts.append(tag("div", *figures, class_="dl-drawings"))
            figures = []
        parts.append(_prose(before))
        if match is None:
            break
        position = match.end()
        if svg is None:
            parts.append(tag("pre", match["code"] or ""))
        else:
            figures.append(drawing(svg, caption))
    return tag("div", *parts, class_="dl-text")


def drawing(svg: str, caption: str = "", alt: str = "") -> Markup:
    """An untrusted SVG as a picture; a click enlarges one without a caption. A broken one says why."""
    title = tag("figcaption", Markup(_markdown().renderInline(caption))) if caption else EMPTY
    try:
        source = svg_data_uri(svg)
    except SvgError as error:
        shown = error_line(f"Drawing not shown: {error}") + more("its source", code(svg))
    else:
        image = tag("img", src=source, alt=alt or (f"Drawing: {caption}" if caption else "Drawing"))
        enlarges = tag("details", tag("summary", image, title="Enlarge or shrink"), class_="dl-drawing")
        shown = tag("div", image, class_="dl-drawing") if caption else enlarges
    return tag("figure", title, shown, class_="dl-figure")


def artifact(piece: Artifact) -> Markup:
    """A finished piece of work: the drawing itself, its text, or its code as it stands, which is never run."""
    if _CODE_TYPE.search(piece.type) and not piece.text.lstrip().startswith(("<svg", "<?xml")):
        return code(piece.text)
    body = drawing(piece.text, alt=f"{piece.type}: {piece.topic}") if "<svg" in piece.text else rich_text(piece.text)
    return tag("div", body, class_="dl-prose")


def _svg_of(match: re.Match[str] | None) -> str | None:
    """The SVG text of a block, or None if the block is something else."""
    if match is None:
        return None
    if match["svg"]:
        return match["svg"]
    source = match["code"] or ""
    return source if "<svg" in source and (match["lang"].lower() in ("svg", "xml", "html", "")) else None


def _split_caption(text: str) -> tuple[str, str]:
    """Split the last line off a text if it labels the drawing after it."""
    head, _, last = text.rstrip().rpartition("\n")
    return (head, last.strip()) if _OPTION_LABEL.match(last.strip()) and len(last) <= 160 else (text, "")


def own_markdown(text: str) -> Markup:
    """A text of ours in Markdown, as HTML; whatever HTML stands in it stays."""
    from markdown_it import MarkdownIt

    return Markup(MarkdownIt("commonmark").render(text))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"html": False, "breaks": True}).enable(list(_MARKDOWN_RULES))


def _prose(text: str) -> Markup:
    markdown = _markdown()
    tokens = markdown.parse(_BULLET.sub(r"\1-", _QUOTE_MARKS.sub("> ", text)))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h4"  # a message stands below the headings of its page
    # Code blocks were taken out before: the line ends that are left lie between elements.
    return Markup(markdown.renderer.render(tokens, markdown.options, {}).replace("\n", ""))
