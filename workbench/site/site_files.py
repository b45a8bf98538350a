"""Build the site: static files that show the story and the simulator, with the library in the browser.

Its addresses are relative, so any static host can serve it in any folder. The browser runs the library and its
dependencies under Pyodide.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY, data_folder, read_yaml
from discover_lib.engines.miniature.lexicon import LEXICON_FOLDER
from discover_lib.engines.miniature.phrases import PHRASES
from workbench.pages import conversation_page
from workbench.site.fetched import PYODIDE_FILES, compiled_wheel, pyodide_folder
from workbench.site.host import OPENING, PageModel
from workbench.stage import StagePlayer
from workbench.story import PEOPLE, WHAT_IT_IS, StoryTeller, averages, averages_line, six_rules
from workbench.views.html import EMPTY, Markup, joined, own_markdown, static_text, tag, templates
from workbench.views.moments import stage_script
from workbench.views.saved_pages import embedded

# Packages that the browser needs, in pure Python. The other packages that pip installs are left out.
DEPENDENCIES = (
    *("defusedxml", "markdown-it-py", "markupsafe", "mdurl", "pyyaml", "tinycss2", "typing-extensions", "webencodings"),
)
LEFT_OUT = {"__pycache__", "tiny_base"}  # no model trains in a browser
DATA = ("artifacts", "recorded")  # folders of `data/` that the simulator's menus offer
SCRIPTS = ("site.js", "site_worker.js", "site_python.mjs", "story.js", "stage.js")
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src data:; "
    "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


STORY = (
    "# People find out what they want by seeing it\n\nThe user can name one intent; the others have no words yet. "
    "Three assistants try to discover them."
)
STAGE = (
    "# What does each reply discover?\n\nPress *Next*: the assistant replies, the user answers, and the map shows the "
    "intents that the reply discovered."
)


@dataclass(frozen=True)
class SitePage:
    """A page of the site.

    Attributes:
        name: of its file and in the menu.
        model: the name of its script, and of its model for `host.open_page`.
        sheets: style sheets beside `site.css`.
        before, after: finished fragments around the widget.
        values: of its model, to begin with; what needs no Python works with them at once.
    """

    file: str
    name: str
    model: str
    sheets: tuple[str, ...]
    before: Markup
    after: Markup
    values: Mapping[str, Any]


def build_site(
    out: Path, pyodide: Path | None = None, on_step: Callable[[str], Any] = lambda step: None, project: str = ""
) -> list[Path]:
    """Write the site into a folder and return its files. It replaces the files of an earlier site.

    Args:
        pyodide: a folder of npm's package. None takes it from the cache or downloads it.
        on_step: called with the name of the next step.
        project: address of the project for the foot of each page, or "".

    Raises:
        DiscoverError: Pyodide or the compiled library is missing.
    """
    if not data_folder().is_dir():
        raise DiscoverError("the site needs a checkout of the project, and this is an installed package")
    runtime = pyodide_folder(pyodide)
    out.mkdir(parents=True, exist_ok=True)
    on_step("Pyodide")
    for name in PYODIDE_FILES:
        _copied(runtime / name, out / "pyodide" / name)
    on_step("the library and what it imports")
    _copied(compiled_wheel(runtime), out / "python" / "compiled.whl")
    packages_zip(out / "python" / "packages.zip")
    on_step("the pages and their recorded conversations")
    with tempfile.TemporaryDirectory() as scratch:
        pages = [_story_page(), _simulator_page(Path(scratch))]
        session = next(Path(scratch).glob("*.json")).read_text(encoding="utf-8")
    data_zip(out / "python" / "data.zip", session)
    sheets = dict.fromkeys(("workbench.css", "site.css", *(sheet for page in pages for sheet in page.sheets)))
    for name in (*sheets, *SCRIPTS):
        text = stage_script() if name == "stage.js" else static_text(name)
        (out / name).write_text(text, encoding="utf-8")
    template = templates().get_template("site_page.html")
    for page in pages:
        values = {"page": page, "pages": pages, "project": project, "values": embedded(page.values)}
        (out / page.file).write_text(template.render(**values, policy=Markup(POLICY)), encoding="utf-8")
    return sorted(path for path in out.rglob("*") if path.is_file())


def _copied(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


# -- what the browser runs ---------------------------------------------------------------------------------------------


def zipped(target: Path) -> zipfile.ZipFile:
    """A new archive with the strongest compression."""
    return zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9)


def packages_zip(target: Path) -> None:
    """The library without the small base model, the packages that it imports with their licenses, and parsed YAML.

    The miniature's YAML files are there as `base.files.read_yaml` keeps them, because to parse them takes seconds.
    """
    with zipped(target) as archive:
        for path in sorted(path for name in ("discover_lib", "workbench") for path in (REPOSITORY / name).rglob("*")):
            if path.is_file() and not LEFT_OUT & set(path.parts):
                archive.write(path, path.relative_to(REPOSITORY).as_posix())
        for file in (file for name in DEPENDENCIES for file in distribution(name).files or ()):
            license = ".dist-info" in file.parts[0] and file.name.upper().startswith(("LICENSE", "COPYING", "METADATA"))
            if file.suffix == ".py" or file.name == "py.typed" or license:
                archive.write(Path(str(file.locate())), str(file))
        for path in (PHRASES, *sorted(LEXICON_FOLDER.glob("*.yaml"))):
            kept = {"source": hashlib.sha256(path.read_bytes()).hexdigest(), "data": read_yaml(path)}
            name = path.parent.relative_to(REPOSITORY) / "__pycache__" / f"{path.name}.json"
            archive.writestr(name.as_posix(), json.dumps(kept, ensure_ascii=False))


def data_zip(target: Path, opening: str) -> None:
    """Artifacts and recorded conversations, and the session that the simulator opens with."""
    with zipped(target) as archive:
        archive.writestr(OPENING, opening)
        for path in sorted(path for folder in DATA for path in (data_folder() / folder).rglob("*")):
            archive.write(path, str(path.relative_to(data_folder())))


# -- pages -------------------------------------------------------------------------------------------------------------


def _story_page() -> SitePage:
    teller = StoryTeller(PEOPLE)
    stories = [teller.tell(person) for person in range(len(PEOPLE))]
    values = {"story": stories[0], "mine": {}, "person": 0, "sent": {}, "stories": stories}
    line = averages_line(averages("svg_drawing", people=30))
    after = joined([line, _prose(six_rules()), _prose(WHAT_IT_IS)])
    return SitePage("index.html", "Start", "story", ("story.css",), own_markdown(STORY), after, values)


def _simulator_page(folder: Path) -> SitePage:
    model = PageModel()
    StagePlayer(conversation_page.opening(folder), widget=model)
    values = {name: getattr(model, name) for name in ("record", "now", "setup")}
    return SitePage(
        "simulator.html", "Conversation", "stage", ("map.css", "stage.css"), own_markdown(STAGE), EMPTY, values
    )


def _prose(text: str) -> Markup:
    return tag("div", own_markdown(text), class_="dl-text")
