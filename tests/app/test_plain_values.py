"""Values that Typer need not validate are what it makes of them, and what it refuses is left to it."""

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from discover_lib.app.cli.plain import plain_value


class Side(StrEnum):
    left = "left"
    right = "RIGHT"


AT_LEAST_1 = Annotated[int, typer.Option(min=1, max=20)]


def by_typer(hint: Any, given: list[str]) -> Any:
    """What a command of Typer alone gets for an option; None where it refuses."""
    taken = []

    def command(value: Any) -> None:
        taken.append(value)

    annotation = hint if hint is AT_LEAST_1 else Annotated[hint, typer.Option()]
    command.__annotations__ = {"value": annotation, "return": None}
    app = typer.Typer()
    app.command()(command)
    CliRunner().invoke(app, [part for text in given for part in ("--value", text)])
    return taken[0] if taken else None


@pytest.mark.parametrize("hint", [str, str | None, int, int | None, AT_LEAST_1, Path, Side, float, list[str]])
@pytest.mark.parametrize(
    "text", ["", "7", "007", "+7", "-7", "0", "21", " 7", "٧", "7.0", "1e3", "9" * 30, "/", "left"]
)
def test_a_plain_value_is_what_typer_makes_of_it(hint, text):
    plain = plain_value(hint, [text] if hint == list[str] else text)
    if plain is not None:
        assert plain == by_typer(hint, [text])
        assert type(plain) is type(by_typer(hint, [text]))


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (str, "draft", "draft"),
        (list[str], ["draft", "adaptive"], ["draft", "adaptive"]),
        (AT_LEAST_1, "20", 20),
        (AT_LEAST_1, 5, 5),
        (Path | None, "outputs/new", Path("outputs/new")),
        (Side, "RIGHT", Side.right),
        (Side, Side.left, Side.left),
    ],
)
def test_what_is_plain(hint, given, value):
    assert plain_value(hint, given) == value


@pytest.mark.parametrize(
    ("hint", "given"),
    [
        (AT_LEAST_1, "0"),
        (AT_LEAST_1, "21"),
        (int, "seven"),
        (float, "0.5"),
        (Side, "right"),
        (Path, "a\0b"),
        (Annotated[Path, typer.Option(exists=True)], "/"),
        (Annotated[int, typer.Option(clamp=True, max=3)], "2"),
        (int | str, "7"),
        (None, "7"),
        ("int", "7"),
    ],
)
def test_what_is_left_to_typer(hint, given):
    assert plain_value(hint, given) is None


def test_a_simulation_with_plain_options_does_not_import_pydantic(tmp_path):
    command = "simulate --domain svg_drawing --assistant draft --artifacts 1 --split eval --rules paper --run".split()
    program = """
import sys
from discover_lib.app.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "pydantic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, *command, str(tmp_path / "run")], check=True, capture_output=True)
