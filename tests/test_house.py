"""The house around the library: commands, environments, the installer's reading of pip, the browser's leash."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest
import yaml
from browser import Server, stays_here
from playwright.sync_api import Page

from discover_lib.runs.cluster import SOURCES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))  # the installer is a script, not part of the library
import install  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Folders of one particular machine.  Written with a gap, or this file would find itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.~-])/(?:" + "|".join(["root", "work", "opt/" + "wheels", "opt/" + "pypi"]) + r")\b/?"
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


def version(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(\.\d+)*", text)
    assert found, f"no version in {text!r}"
    return tuple(map(int, found.group().split(".")))


def make_help() -> str:
    return subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_plain_make_is_the_help() -> None:
    plain = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert plain == make_help()


def test_make_help_has_a_line_for_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony
    listed = re.findall(r"^  make ([\w-]+) +\w", make_help(), re.MULTILINE)
    assert sorted(listed) == sorted(phony.group(1).split())
    assert {"open", "test"} <= set(listed)


def test_every_place_that_names_a_python_agrees_with_the_project() -> None:
    floor = version(PROJECT["project"]["requires-python"])
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (python,) = [entry for entry in conda["dependencies"] if str(entry).startswith("python=")]
    assert version(python) >= floor
    assert floor == install.MINIMUM_PYTHON == version(PROJECT["tool"]["mypy"]["python_version"])
    assert f"sys.version_info < {floor}" in (ROOT / "Makefile").read_text(encoding="utf-8")


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


@pytest.mark.slow
def test_no_id_that_is_kept_names_an_absolute_folder() -> None:
    absolute = "hf%3A" + "%2F"  # an id percent-encodes the folder of a trained model
    assert not [name for name, text in tracked_texts() if absolute in text]


def test_pip_settings_for_installing_win_over_general_ones_and_the_environment_over_both() -> None:
    listing = "\n".join(
        [
            ":env:.find-links='/from/env'",
            "download.index-url='https://other-command.test'",
            "global.find-links='/general'",
            "global.index-url='https://general.test'",
            "install.index-url='https://install.test'",
        ]
    )
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


def test_a_variable_that_is_already_set_for_uv_stays() -> None:
    told = install.uv_environment({"index-url": "https://pip.test"}, {"UV_DEFAULT_INDEX": "https://own.test"})
    assert told["UV_DEFAULT_INDEX"] == "https://own.test"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [("2.15.0, 2.13.0+cpu, 2.13.0, 2.12.0+cpu", "2.13.0+cpu"), ("2.15.0, 2.13.0+cu130", None), ("", None)],
)
def test_a_cpu_build_of_torch_is_preferred_to_a_newer_public_one(versions: str, expected: str | None) -> None:
    assert install.newest_cpu_build(f"torch (2.15.0)\nAvailable versions: {versions}\n") == expected


def test_an_environment_that_was_moved_is_not_usable(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("version = 3.12.1\ncommand = python3 -m venv /somewhere/else/.venv\n")
    assert not install.usable(tmp_path)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:2718/?file=a.py", True),
        ("ws://localhost:2718/ws", True),
        ("http://[::1]/", True),
        ("data:text/plain,hello", True),
        ("https://cdn.example/lib.js", False),
        ("http://127.0.0.1.example/", False),
        ("wss://example.test/", False),
    ],
)
def test_only_this_machine_counts_as_here(url: str, expected: bool) -> None:
    assert stays_here(url) is expected


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


def test_the_workbench_opens_and_asks_for_nothing_outside(
    server: Server, page: Page, outside_requests: list[str]
) -> None:
    before = len(server.errors)  # other tests share the server, and marimo tells of pages that were left midway
    page.goto(server.url)
    page.locator("a[href*='00_start_here.py']").first.wait_for(timeout=60_000)
    assert outside_requests == []
    assert "Traceback" not in server.errors[before:]
