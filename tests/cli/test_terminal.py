"""What a command prints: texts of models, and of runs of others, are shown, and no terminal obeys them."""

import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import discover
from rich.table import Table

from discover_lib.cli.common import console, one_line
from discover_lib.cli.terminal import Shown, visible

TITLE, WIPE, HIDDEN, OVER = "\x1b]0;pwned\x07", "\x1b[2J", "\x1b[8m", "right\rwrong"


@pytest.mark.parametrize(
    "text", [TITLE, WIPE, HIDDEN, OVER, "\x9b2J", "\x1b[5m", "\x1b[1;8m", "\u202etxt", "\x08", "\x1bc"]
)
def test_what_a_terminal_obeys_is_written_out(text: str) -> None:
    out = io.StringIO()
    Shown(out).write(text)
    assert out.getvalue() == visible(text) and "<U+" in out.getvalue()
    assert not set(out.getvalue()) & set("\x1b\x07\x08\x9b\r\u202e")


@pytest.mark.parametrize(
    "text", ["\x1b[1;36mbold\x1b[0m\r\n", "\x1b[38;5;8mgrey\x1b[m", "\x1b[48;2;1;2;3m", "a\tb\n", "👩\u200d🚀 שלום"]
)
def test_colours_and_letters_pass(text: str) -> None:
    out = io.StringIO()
    Shown(out).write(text)
    assert out.getvalue() == text


def test_bars_move_on_standard_error_alone() -> None:
    bar = "\r\x1b[2K\x1b[1A\x1b[?25l"
    out, err = io.StringIO(), io.StringIO()
    Shown(out).write(bar)
    Shown(err, bars=True).write(bar + WIPE)
    assert "\x1b" not in out.getvalue() and err.getvalue() == f"{bar}<U+001B>[2J"


def test_an_error_is_one_line_that_no_terminal_obeys() -> None:
    assert one_line(f"no\nsuch\r{WIPE}thing") == "no such <U+001B>[2Jthing"


def test_half_a_character_is_printed() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    Shown(stream).writelines(["half \ud83d", "\n"])
    stream.flush()
    assert raw.getvalue() == b"half <U+D83D>\n"


def test_a_table_shows_markup_of_others_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("[b]name", title="[/] of [u]all")
    table.add_row("model[/b] [red]x")
    console().print(table)
    shown = capsys.readouterr().out
    assert "model[/b] [red]x" in shown and "[b]name" in shown and "[/] of [u]all" in shown


NAME = f"adaptive[/b]{TITLE}{WIPE}\ud800"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose assistant has a name, and whose replies hold a text, that mean harm."""
    folder = tmp_path_factory.mktemp("runs") / "foreign"
    size = ("--artifacts", 2, "--turns", 2, "--run", folder)
    assert discover("evaluate", "--domain", "svg_drawing", "--assistant", "adaptive", *size).returncode == 0
    with sqlite3.connect(folder / "run.sqlite") as file:
        told = json.dumps(NAME)[1:-1]
        for table, column in (("run", "value"), ("units", "assistants"), ("units", "setting"), ("turns", "data")):
            file.execute(f"UPDATE {table} SET {column} = replace({column}, '\"adaptive\"', ?)", (f'"{told}"',))
        file.execute('UPDATE turns SET data = replace(data, \'"text":"\', ?)', (f'"text":"{told} ',))
        file.execute("DELETE FROM digests")
        file.execute("DELETE FROM assessments")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", ["audit", "show"])
def test_a_run_of_somebody_else_does_nothing_to_a_terminal(foreign: Path, command: str) -> None:
    what = f"discover://{foreign.name}/*/*/0/1" if command == "show" else str(foreign)
    words = [sys.executable, "-c", "from workbench.main import main; main()", command, what]
    parent, child = pty.openpty()
    env = {**os.environ, "DISCOVER_OUTPUTS": str(foreign.parent), "TERM": "xterm-256color"}
    process = subprocess.Popen(words, stdout=child, stderr=child, stdin=subprocess.DEVNULL, env=env)
    os.close(child)
    said = b""
    while True:
        try:
            said += os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
    assert process.wait(timeout=60) == 0, said
    assert b"Traceback" not in said
    assert b"\x1b]" not in said and b"\x1b[2J" not in said and b"\x07" not in said
    assert command == "show" or b"\x1b[1m" in said  # our own looks pass
