"""Build the site: static files that show the story and the simulator, with the library in the browser.

Its addresses are relative, so any static host can serve it in any folder. The browser runs the library and its
dependencies under Pyodide.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY, data_folder
from discover_lib.engines.miniature.lexicon import LEXICON_FOLDER, read_yaml
from discover_lib.engines.miniature.phrases import PHRASES
from workbench.pages import conversation_page
from workbench.site.host import OPENING, PageModel
from workbench.stage import StagePlayer
from workbench.story import PEOPLE, WHO_PLAYS, StoryTeller, six_rules
from workbench.views.html import EMPTY, Markup, joined, own_markdown, static_text, tag, templates
from workbench.views.moments import stage_script
from workbench.views.saved_pages import embedded

PYODIDE = "314.0.7"
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
COMPILED = "msgspec"  # reads the scores; PyPI has its wheel for Pyodide
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
    "# People find out what they want by seeing it\n\nOne user asks three assistants. Each circle is an *intent*: "
    "one thing that this user wants. At first, the user can name only the filled one. The assistants help the user to "
    "discover the others."
)
STAGE = (
    "# What does each reply discover?\n\nPress *Next*: the assistant replies, and the user answers. Each box under "
    "*What the user wants* is an *intent*: one thing that the user wants."
)


def build_site(out: Path, pyodide: Path | None = None, project: str = "") -> list[Path]:
    """Write the site into a folder and return its files. It replaces the files of an earlier site.

    Args:
        pyodide: a folder of npm's package. None takes it from the cache or downloads it.
        project: address of the project for the foot of each page, or "".

    Raises:
        DiscoverError: Pyodide or the compiled library is missing.
    """
    if not data_folder().is_dir():
        raise DiscoverError("the site needs a checkout of the project, and this is an installed package")
    runtime = pyodide_folder(pyodide)
    out.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE_FILES:
        _copied(runtime / name, out / "pyodide" / name)
    _copied(compiled_wheel(runtime), out / "python" / "compiled.whl")
    packages_zip(out / "python" / "packages.zip")
    with tempfile.TemporaryDirectory() as scratch:
        pages = [_story_page(), _simulator_page(Path(scratch))]
        session = next(Path(scratch).glob("*.json")).read_text(encoding="utf-8")
    data_zip(out / "python" / "data.zip", session)
    sheets = dict.fromkeys(("workbench.css", "site.css", *(sheet for page in pages for sheet in page["sheets"])))
    for name in (*sheets, *SCRIPTS):
        (out / name).write_text(stage_script() if name == "stage.js" else static_text(name), encoding="utf-8")
    template = templates().get_template("site_page.html")
    for page in pages:
        values = {"page": page, "pages": pages, "project": project, "values": embedded(page["values"])}
        (out / page["file"]).write_text(template.render(**values, policy=Markup(POLICY)), encoding="utf-8")
    return sorted(path for path in out.rglob("*") if path.is_file())


def _copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


# -- what the browser runs ---------------------------------------------------------------------------------------------


def zipped(target: Path) -> zipfile.ZipFile:
    """A new archive with the strongest compression."""
    return zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9)


def packages_zip(target: Path) -> None:
    """The library without the small base model, the packages that it imports with their licenses, and parsed YAML.

    The miniature's YAML files are there as `read_yaml` keeps them, because to parse them takes seconds.
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


# For the template. `name` is the page's in the menu. `model` is its script, and its model for `host.open_page`. The
# `sheets` are style sheets beside `site.css`. The page works with the model's first `values` before Python is there.


def _story_page() -> dict[str, Any]:
    teller = StoryTeller(PEOPLE)
    stories = [teller.tell(person) for person in range(len(PEOPLE))]
    return {
        "file": "index.html",
        "name": "Start",
        "model": "story",
        "sheets": ("story.css",),
        "before": own_markdown(STORY),
        "after": joined([_prose(six_rules()), _prose(WHO_PLAYS)]),
        "values": {"story": stories[0], "mine": {}, "person": 0, "sent": {}, "stories": stories},
    }


def _simulator_page(folder: Path) -> dict[str, Any]:
    model = PageModel(growing="")
    StagePlayer(conversation_page.opening(folder), widget=model)
    return {
        "file": "simulator.html",
        "name": "Conversation",
        "model": "stage",
        "sheets": ("map.css", "stage.css"),
        "before": own_markdown(STAGE),
        "after": EMPTY,
        "values": {name: getattr(model, name) for name in ("record", "now", "setup", "growing")},
    }


def _prose(text: str) -> Markup:
    return tag("div", own_markdown(text), class_="dl-text")


# -- downloads: Pyodide from npm and one compiled library from PyPI, kept in a cache -----------------------------------


def cache_folder() -> Path:
    """The folder of the downloads: `discover-lib` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discover-lib"


def pyodide_folder(given: Path | None = None) -> Path:
    """The folder of Pyodide's files: the given folder, or the cache, filled from npm.

    Raises:
        DiscoverError: files are missing in the given folder, or npm is missing or failed.
    """
    if given is not None:
        missing = [name for name in PYODIDE_FILES if not (given / name).is_file()]
        if missing:
            raise DiscoverError(f"{given} lacks {', '.join(missing)}: give a folder of npm's package pyodide@{PYODIDE}")
        return given
    folder = cache_folder() / f"pyodide-{PYODIDE}"
    if not folder.is_dir():
        _unpacked_from_npm(folder)
    return folder


def compiled_wheel(pyodide: Path) -> Path:
    """The wheel of the compiled library for this Pyodide, in the installed version.

    Raises:
        DiscoverError: pip cannot download it.
    """
    wanted = version(COMPILED)
    folder = cache_folder() / "wheels"
    platform, python = _target(pyodide)
    pattern = f"{COMPILED}-{wanted}-*-{platform}.whl"
    for wheel in folder.glob(pattern):
        return wheel
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", f"{COMPILED}=={wanted}"]
    command += ["--no-deps", "--only-binary", ":all:", "--platform", platform, "--python-version", python]
    run([*command, "--dest", folder], f"pip cannot get {COMPILED} {wanted} for {platform}")
    return next(folder.glob(pattern))


def _target(pyodide: Path) -> tuple[str, str]:
    """The platform tag and the Python version ("3.14") of wheels for this Pyodide."""
    told = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    return f"pyemscripten_{told['abi_version']}_wasm32", ".".join(told["python"].split(".")[:2])


def _unpacked_from_npm(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise DiscoverError(
            f"npm is missing, which Pyodide comes from: install Node.js, or unpack pyodide@{PYODIDE} of npm yourself "
            "and give its folder as --pyodide FOLDER"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        command = ["npm", "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", scratch]
        run(command, f"npm cannot get pyodide@{PYODIDE}")
        with tarfile.open(next(Path(scratch).glob("pyodide-*.tgz"))) as package:
            package.extractall(scratch, filter="data")
        # In a writable folder only an existing target refuses: another process was faster, with the same files.
        with suppress(OSError):
            (Path(scratch) / "package").rename(folder)


def run(command: Sequence[str | Path], trouble: str) -> None:
    """Run a command.

    Raises:
        DiscoverError: it failed. The message has `trouble` and the last line of its errors.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = re.findall(r"(?:ERROR|error).*", done.stderr) or done.stderr.strip().splitlines() or ["no reason given"]
        raise DiscoverError(f"{trouble}: {lines[-1].strip()}")
