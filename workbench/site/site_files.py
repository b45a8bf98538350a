"""Build the site: a folder of static files that shows the story and the simulator, with the library in the browser.

Every address in it is relative, so that any static host takes it, in any folder. The browser runs the wheel that pip
would install, under Pyodide, with what the wheel imports beside it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY, data_folder, read_yaml
from discover_lib.engines.miniature.lexicon import LEXICON_FOLDER
from discover_lib.engines.miniature.phrases import PHRASES
from workbench.pages import conversation_page
from workbench.site.fetched import PYODIDE_FILES, compiled_wheel, pyodide_folder
from workbench.site.host import OPENING, PageModel
from workbench.stage import StagePlayer
from workbench.story import PEOPLE, WHAT_IT_IS, StoryTeller, averages, six_rules
from workbench.views.columns import averages_line
from workbench.views.html import EMPTY, Markup, joined, own_markdown, static_text, tag
from workbench.views.moments import stage_script
from workbench.views.saved_pages import embedded, templates

# Imported by what the browser runs, and written in Python alone; the rest of what pip installs stays at home.
DEPENDENCIES = (
    *("defusedxml", "markdown-it-py", "markupsafe", "mdurl", "pyyaml", "tinycss2", "typing-extensions", "webencodings"),
)
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
    """Write the site into a folder and return its files; files of a site before it are replaced.

    Args:
        pyodide: a folder of npm's package; None fetches the pinned one or takes it from the cache.
        on_step: told what comes next, in a few words.
        project: where the project can be had, for the foot of each page; "" names no place.

    Raises:
        DiscoverError: Pyodide or the wheel cannot be had.
    """
    runtime = pyodide_folder(pyodide)
    out.mkdir(parents=True, exist_ok=True)
    on_step("Pyodide")
    for name in PYODIDE_FILES:
        _copied(runtime / name, out / "pyodide" / name)
    on_step("the library and what it imports")
    shutil.rmtree(out / "python", ignore_errors=True)
    wheels = [
        library_wheel(out / "python"),
        _copied(compiled := compiled_wheel(runtime), out / "python" / compiled.name),
    ]
    dependencies_zip(out / "python" / "dependencies.zip")
    parsed_zip(out / "python" / "parsed.zip")
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
        html = template.render(**values, policy=Markup(POLICY), wheels=" ".join(wheel.name for wheel in wheels))
        (out / page.file).write_text(html, encoding="utf-8")
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != SERVICE)
    (out / SERVICE).write_text(_service_worker(out, files), encoding="utf-8")
    return [*files, out / SERVICE]


SERVICE = "site_service.js"


def _copied(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


# -- what the browser runs ---------------------------------------------------------------------------------------------


def library_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built by its own backend.

    Raises:
        DiscoverError: there is no checkout, or pip cannot build it.
    """
    sources = [REPOSITORY / name for name in ("pyproject.toml", "README.md", "LICENSE")]
    if not all(path.is_file() for path in sources):
        raise DiscoverError("the site is built from a checkout of the project; only the installed package is here")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for path in sources:
            shutil.copy(path, scratch)
        skipped = shutil.ignore_patterns("__pycache__", "__marimo__")
        for package in ("discover_lib", "workbench"):
            shutil.copytree(REPOSITORY / package, Path(scratch) / package, ignore=skipped)
        offline = ["--no-build-isolation"] if builds_here() else []
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", *offline]
        done = subprocess.run([*command, "--wheel-dir", folder, scratch], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DiscoverError(f"pip cannot build the wheel: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return next(folder.glob("discover_lib-*.whl"))


def builds_here() -> bool:
    """True if this environment has what the wheel is built with, so that pip need not fetch it.

    A new environment of Python 3.11 has a setuptools that is too old.
    """
    needed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    try:
        return all(
            requirement.specifier.contains(version(requirement.name)) for requirement in map(Requirement, needed)
        )
    except PackageNotFoundError:
        return False


def dependencies_zip(target: Path) -> None:
    """The Python files and licences of what the library imports, as they are installed here."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in DEPENDENCIES:
            for file in distribution(name).files or ():
                licence = ".dist-info" in file.parts[0] and file.name.upper().startswith(
                    ("LICENSE", "COPYING", "METADATA")
                )
                if file.suffix == ".py" or file.name == "py.typed" or licence:
                    archive.write(Path(str(file.locate())), str(file))


def parsed_zip(target: Path) -> None:
    """The miniature's YAML files as JSON, to lie beside them in the package (`base.files.read_yaml`)."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in (PHRASES, *sorted(LEXICON_FOLDER.glob("*.yaml"))):
            name = path.relative_to(REPOSITORY).with_suffix(".json").as_posix()
            archive.writestr(name, json.dumps(read_yaml(path), ensure_ascii=False))


def data_zip(target: Path, opening: str) -> None:
    """Artifacts and recorded conversations, and the session that the simulator opens with."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(OPENING, opening)
        for folder in DATA:
            for path in sorted((data_folder() / folder).rglob("*")):
                if path.is_file():
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
    model = PageModel(growing="")
    StagePlayer(conversation_page.opening(folder), widget=model)
    values = {name: getattr(model, name) for name in ("record", "now", "setup", "growing")}
    return SitePage(
        "simulator.html",
        "Conversation",
        "stage",
        ("map.css", "stage.css"),
        own_markdown(STAGE),
        EMPTY,
        values,
    )


def _prose(text: str) -> Markup:
    return tag("div", own_markdown(text), class_="dl-text")


# -- offline -----------------------------------------------------------------------------------------------------------


def _service_worker(out: Path, files: list[Path]) -> str:
    """The script that keeps the site on the visitor's machine; its name of the cache changes with any file."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(out).as_posix().encode() + path.read_bytes())
    names = ["./", *(path.relative_to(out).as_posix() for path in files)]
    begin = f"const CACHE = {json.dumps('discover-' + digest.hexdigest()[:16])};\nconst FILES = {json.dumps(names)};\n"
    return begin + static_text(SERVICE)
