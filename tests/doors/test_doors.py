"""The doors as a group: thin, documented by examples that run, and clear about a package that is absent."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ROOT / "docs" / "integrations"  # files that people copy beside their code
DOORS = {path.stem for path in (ROOT / "discover_lib" / "doors").glob("*.py")} - {"__init__", "episode"}
DOORS |= {path.stem.removesuffix("_user") for path in COPIED.glob("*.py")}
DOORS_WITH_PACKAGES = ("gymnasium", "openenv", "verifiers", "skyrl", "tinker", "inspect")
TEXT = (ROOT / "docs" / "doors.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## [^\n]*`(\w+)`[^\n]*\n.*?^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))


def test_every_door_has_its_example_and_its_versions() -> None:
    assert DOORS == {*DOORS_WITH_PACKAGES, "trl"} == set(EXAMPLES)
    for door, example in EXAMPLES.items():
        assert len([line for line in example.splitlines() if line.strip()]) <= 12, door
    assert len(re.findall(r"^Tried with ", TEXT, re.MULTILINE)) == len(DOORS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "door", ["trl", *(pytest.param(door, marks=pytest.mark.integration(door)) for door in DOORS_WITH_PACKAGES)]
)
def test_the_example_runs(door: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[door], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{COPIED}"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip(), "an example prints what came of it"


@pytest.mark.slow
@pytest.mark.parametrize(("door", "hidden"), [("gymnasium", "gymnasium"), ("inspect", "inspect_ai")])
def test_an_absent_package_is_one_line_with_the_extra(door: str, hidden: str) -> None:
    program = (
        f"import sys; sys.modules[{hidden!r}] = None\n"
        f"try:\n    import discover_lib.doors.{door}\n"
        "except ValueError as error:\n    print(error)"
    )
    line = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert line.startswith("this door needs another package") and hidden in line
    assert f"discover-lib[{door}]" in line and line.count("\n") == 1
