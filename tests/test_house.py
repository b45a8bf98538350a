"""The house around the library: commands, environments, the installer's reading of pip, the browser's leash."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest
from playwright.sync_api import Page

from discover_lib.runs.work import SOURCES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))  # the installer is a script, not part of the library
import install  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Folders of one particular machine.  Written with a gap, or this file would find itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.~-])/(?:" + "|".join(["root", "work", "opt/" + "wheels", "opt/" + "pypi"]) + r")\b/?"
    # The id of a trained model percent-encodes its folder.
    r"|hf%3A" + r"%2F"
)


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Name and text of every text file of the project that git keeps."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout: no way to tell the project's files from others")
    for name in filter(None, listing.stdout.split("\0")):
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # a picture, or a file that is being moved right now


def test_make_help_has_a_line_for_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony
    told = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  make ([\w-]+) +\w", told, re.MULTILINE)
    assert sorted(listed) == sorted(phony.group(1).split())
    assert {"open", "test"} <= set(listed)


def test_every_core_dependency_is_locked() -> None:
    locked = set(re.findall(r"^([\w.-]+)==", install.CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE))
    needed = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["dev"]
    names = {re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-") for requirement in needed}  # type: ignore[union-attr]
    assert names <= locked, f"run `make lock`: {sorted(names - locked)} are not in constraints.txt"


def test_the_lock_leaves_torch_open_and_names_no_index() -> None:
    text = install.CONSTRAINTS.read_text(encoding="utf-8")
    assert not re.search(r"^(torch|triton|nvidia-|cuda-)", text, re.MULTILINE)
    assert "://" not in text and "--" not in text


def test_every_data_file_of_the_library_is_packaged() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["discover_lib"]
    names = [
        PurePath(name).relative_to("discover_lib") for name, _ in tracked_texts() if name.startswith("discover_lib/")
    ]
    left_out = [str(name) for name in names if name.suffix != ".py" and not any(map(name.match, patterns))]
    assert not left_out, f"add these to [tool.setuptools.package-data]: {left_out}"


def test_a_worker_elsewhere_is_compared_by_every_file_that_decides_results() -> None:
    files = [path for path in (ROOT / "discover_lib").rglob("*") if path.is_file()]
    deciding = {path.suffix for path in files if not {"__pycache__", "static", "prompts"} & {*path.parts}}
    assert deciding <= {*SOURCES}


@pytest.mark.slow
def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = [
        f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit.group()}"
        for name, text in tracked_texts()
        for hit in MACHINE_PATHS.finditer(text)
    ]
    assert not found


def test_pip_settings_for_installing_win_over_general_ones_and_the_environment_over_both() -> None:
    listing = "\n".join(
        [
            ":env:.find-links='/from/env'", "download.index-url='https://other-command.test'",
            "global.find-links='/general'", "global.index-url='https://general.test'",
            "install.index-url='https://install.test'",
        ]
    )  # fmt: skip
    assert install.pip_settings(listing) == {"find-links": "/from/env", "index-url": "https://install.test"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"index-url": "https://a.test/simple"}, {"UV_DEFAULT_INDEX": "https://a.test/simple"}),
        ({"extra-index-url": "file:///a\nfile:///b"}, {"UV_INDEX": "file:///a file:///b"}),
        ({"find-links": "/wheels https://w.test"}, {"UV_FIND_LINKS": "/wheels,https://w.test"}),
        ({"cert": "/etc/ca.pem"}, {"SSL_CERT_FILE": "/etc/ca.pem"}),
        ({"trusted-host": "a.test b.test"}, {"UV_INSECURE_HOST": "a.test b.test"}),
        ({"no-index": "true"}, {"UV_NO_INDEX": "1"}),
        ({"no-index": "false"}, {}),
        ({"default-timeout": "180"}, {"UV_HTTP_TIMEOUT": "180"}),
    ],
)
def test_uv_is_told_what_pip_knows(settings: dict[str, str], expected: dict[str, str]) -> None:
    assert install.uv_environment(settings, {}) == {"UV_INDEX_STRATEGY": "unsafe-best-match", **expected}


def test_a_page_that_asks_outside_is_blocked_and_reported(page: Page, outside_requests: list[str]) -> None:
    failed: dict[str, str | None] = {}
    page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
    named, numbered = "https://outside.example/x.png", "http://192.0.2.1/x.png"
    page.set_content(f"<h1>Here</h1><img src='{named}'><img src='{numbered}'>")
    live = "wss://outside.example/live"
    page.on("websocket", lambda socket: socket.on("socketerror", lambda why: failed.update({socket.url: why})))
    page.evaluate("url => new Promise(failed => { new WebSocket(url).onerror = failed })", live)
    assert page.inner_text("h1") == "Here"
    assert sorted(outside_requests) == sorted(failed) == [numbered, named, live]
    assert all("ERR_NAME_NOT_RESOLVED" in str(why) for why in failed.values())
