"""Whole pages as single HTML files, and the first page of the workbench. Each opens without a network and a kernel.

The templates are in `views/static`. A value of a template is escaped unless it is `Markup`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from discover_lib.core.conversation import Artifact, Conversation
from workbench.bar import BAR, CLASS, PAGES, Page, bar
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, static_text, tag, templates
from workbench.views.moments import Strip, stage_of, stage_script

# Files of marimo → font and weight.
FONTS = {"Lora-*": "Lora", "PTSans-Regular-*": '"PT Sans"', "PTSans-Bold-*": '"PT Sans"; font-weight: 700'}
PACK = 20  # conversations that are compressed together
_DRAWN = re.compile(r'"src":"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"')


def page(
    template: str, title: str, sheets: Sequence[str], script: str = "", *, served: bool = False, **values: Any
) -> str:
    """A template with its values, the style sheets, and a policy that allows nothing but them and this script.

    Args:
        served: it may also ask the server that it comes from.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    styles = Markup("\n".join(map(static_text, sheets))) + (_fonts() if served else EMPTY)
    return (
        templates()
        .get_template(template)
        .render(title=title, styles=styles, policy=_policy(script, served), script=Markup(script), **values)
    )


# -- a conversation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """What one file holds of a run or a session.

    Attributes:
        records: number in the list → lines of one user's conversation.
        listing: a button for each number (`data-pick`); empty where there is one alone.
        parts: (heading, fragment) of tables that follow.
        first: the number, line and turn that the page opens at.
    """

    heading: str
    facts: str
    records: Mapping[int, Sequence[Strip]]
    listing: Markup = EMPTY
    parts: Sequence[tuple[str, Markup]] = ()
    first: tuple[int, int, int] = (0, 0, 0)


def shared_page(shared: Shared, on_progress: Callable[[int, int], Any] = lambda done, total: None) -> str:
    """Conversations on the stage, behind a list, as one file; they are compressed in it and read when they are opened.

    Args:
        on_progress: called with the number of conversations computed and of all.
    """
    packs, numbers = [], list(shared.records)
    for first in range(0, len(numbers), PACK):
        pack: dict[str, Any] = {}
        for number in numbers[first : first + PACK]:
            strips = shared.records[number]
            pack[str(number)] = stage_of(strips) | {"note": _footer(strips[0].conversation)}
            on_progress(first + len(pack), len(numbers))
        text = _DRAWN.sub(_drawing_in_the_clear, json.dumps(pack, ensure_ascii=False, separators=(",", ":")))
        written = text.encode("utf-8", "backslashreplace")  # half a surrogate pair, as JSON escapes it
        packs.append((" ".join(pack), base64.b64encode(gzip.compress(written, mtime=0)).decode("ascii")))
    return page(
        "shared_page.html",
        f"{shared.heading} ({shared.facts})",
        ("workbench.css", "map.css", "stage.css", "shared_page.css"),
        script=stage_script() + static_text("theme.js") + static_text("shared_page.js"),
        shared=shared,
        packs=packs,
    )


def _drawing_in_the_clear(match: re.Match[str]) -> str:
    """A drawing as its text: base64 hides from the compression what drawings have in common (a third of the file)."""
    return f'"src":{json.dumps(base64.b64decode(match[1]).decode("utf-8"), ensure_ascii=False)}'


def demo_page(conversation: Conversation, artifact: Artifact | None = None) -> str:
    """One conversation on the stage as a file, with the artifact that its intents were built from."""
    topic = conversation.tree.topic or conversation.tree.artifact_type
    strip = Strip("main line", conversation)
    parts = [("The artifact that these intents were built from", show.artifact(artifact))] if artifact else []
    heading = f"{topic[:1].upper()}{topic[1:]}: discovering intents"
    return shared_page(Shared(heading, facts(conversation), {0: [strip]}, parts=parts))


def facts(conversation: Conversation) -> str:
    """What kind of conversation it is, under which rules, with whom: one line."""
    setting = conversation.setting
    engine = str(setting.get("engine") or "")
    assistants = setting.get("assistants") or sorted({turn.reply.assistant for turn in conversation.turns} - {""})
    names = [assistants] if isinstance(assistants, str) else [str(each) for each in assistants]
    parts = [
        conversation.tree.artifact_type,
        f"{engine} conversation" if engine else "",
        f"{conversation.rules.name} rules",
        ("assistants: " if len(names) > 1 else "assistant: ") + ", ".join(names) if names else "",
        "" if engine == "recorded" else f"seed {conversation.seed}",
    ]
    line = " · ".join(filter(None, parts))
    return line[:1].upper() + line[1:]


# -- words -------------------------------------------------------------------------------------------------------------


def _footer(conversation: Conversation) -> str:
    if note := str(conversation.setting.get("note") or ""):
        return f"{note[:1].upper()}{note[1:]}."
    return "Every state and reward on this page is computed from the judgments of the replies."


def embedded(data: Mapping[str, Any]) -> Markup:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _policy(script: str, served: bool) -> Markup:
    """What the page may load: its own styles, images that it brings along, and this one script."""
    asked = "connect-src 'self'; font-src 'self'; form-action 'self'" if served else "form-action 'none'"
    allowed = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; {asked}"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
        allowed += f"; script-src 'sha256-{digest}'"
    return Markup(allowed)


@cache
def _fonts() -> Markup:
    """The fonts of the notebooks, from where marimo's server has them; without them, a page has the system's."""
    assets = Path(str(distribution("marimo").locate_file("marimo/_static/assets")))
    return Markup(
        "\n".join(
            f"@font-face {{ font-family: {face}; src: url(/assets/{file.name}); }}"
            for name, face in FONTS.items()
            for file in assets.glob(name)
        )
    )


# -- the first page of the workbench: a card for each word of the bar --------------------------------------------------


PICTURES: dict[str, str] = json.loads(static_text("thumbnails.json"))
OF_LESSON = {  # a lesson shows the picture of the page that it is about
    "1 Asking": "Conversation",
    "2 One tree": "Intents",
    "3 Length": "Class",
    "4 Trust": "Trust",
    "5 Learning": "Train",
}


def gallery_page(*, only: frozenset[str] | None = None, note: Markup = EMPTY) -> str:
    """The page as one HTML file; it works without its script.

    Args:
        only: the files that a student may open; each lesson then has its own card.
        note: a line below the title, such as the name of a student.
    """
    listed = BAR if only is None else [each for each in (*PAGES, *CLASS) if each.file in only]
    shown = [each for each in listed if each.exists]
    return page(
        "gallery_page.html",
        "DiscoverLLM workbench",
        ("workbench.css", "gallery.css"),
        script=static_text("bar.js"),
        served=True,
        bar=bar(only=only),
        cards=tag("ul", *map(_card, shown), class_="ga-cards"),
        start=shown[0].file if shown else "",
        note=note,
    )


def _card(page: Page) -> Markup:
    return tag(
        "li",
        tag("div", Markup(PICTURES[OF_LESSON.get(page.word, page.word)]), class_="ga-picture"),
        tag("h2", tag("a", page.word, href=f"/?file={page.file}")),
        tag("p", page.question),
    )
