"""What every desk gets from the waist, on a toy desk: flags, folder, start, stop, kill, resume, report."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner
from waiting import until

sys.path.insert(0, str(Path(__file__).parent))
import toy_desk
from toy_desk import Count, Slowly, count

from discover_lib.base.errors import DiscoverError
from discover_lib.cli.common import command_from, command_of
from discover_lib.runs import job_folder
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.tasks import waist
from discover_lib.tasks.waist import (
    Asked,
    How,
    Lines,
    Report,
    Run,
    RunFolder,
    Table,
    ask,
    begin,
    do,
    read,
    reading_of,
    report_of,
    status_of,
    stop,
    task,
)


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(Path(__file__).parent)]))
    return tmp_path


def reaches(folder: Path, state: str, done: int = 0) -> None:
    until(lambda: (now := status_of(folder)).state == state and now.done >= done)


class About(Asked, frozen=True):
    run: RunFolder
    seed: Annotated[int, ask("A seed.")] = 0


@task("about", "What is there?", keeps=False)
def about(asked: About, how: How, folder: Path, tell) -> Report:
    (folder / "scratch").touch()
    return Report((Lines((asked.run.name,)),), asked.seed)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"most": 0}, "most is 0; it must be at least 1"),
        ({"most": 2000}, "most is 2000; it must be .* at most 1000"),
        ({"many": 1}, "many"),
        ({"most": "x"}, "most is 'x'.*int"),
        ({"rules": "own"}, "rules is 'own'"),
        ({"share": 2}, "share is 2"),
        ({"share": float("nan")}, "share is nan"),
        ({"names": "one"}, "names is 'one'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_from_outside_and_from_a_script(data: dict[str, Any], says: str) -> None:
    with pytest.raises(DiscoverError, match=says) as refused:
        read(Count, data)
    assert "\n" not in str(refused.value)
    if "many" not in data:
        with pytest.raises(DiscoverError, match=says):
            Count(**data)


def test_a_run_that_is_not_there_is_refused_and_nothing_is_made(outputs: Path) -> None:
    with pytest.raises(DiscoverError, match="no run here"):
        About(run=outputs / "nowhere")
    with pytest.raises(DiscoverError, match="run"):
        read(About, {})
    assert not any(outputs.iterdir())


@pytest.mark.slow
@given(
    st.builds(
        Count, most=st.integers(1, 1000), names=st.lists(st.text(), max_size=3).map(tuple),
        share=st.none() | st.floats(0, 1),
    )
)  # fmt: skip
def test_what_is_asked_survives_json(asked: Count) -> None:
    assert read(Count, json.loads(json.dumps(asked.plain()))) == asked
    same = asked.most == 5 and not asked.names and asked.share is None
    assert (count.folder(asked) == count.folder(Count())) == same


def test_flags_say_help_range_and_choices_and_the_code_is_the_reports(tmp_path: Path) -> None:
    app = typer.Typer(add_completion=False)
    app.command()(command_from(command_of(count)))
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    for words in ("1<=x<=1000", "How far to count.", "paper|authors", "Seconds a number.", "How far does it count?"):
        assert words in text
    assert CliRunner().invoke(app, ["--most", "0"]).exit_code == 2
    result = CliRunner().invoke(app, ["--most", "2", "--names", "a", "--names", "b", "--out", str(tmp_path / "o.json")])
    assert result.exit_code == 3 and json.loads((tmp_path / "o.json").read_text()) == {"counted": 2}
    assert report_of(count.folder(Count(most=2, names=("a", "b")))) is not None


def test_a_report_is_the_same_told_stored_and_as_csv(outputs: Path) -> None:
    report = count(Count())
    assert report_of(count.folder(Count())) == report
    console = Console(file=io.StringIO(), width=120)
    report.print(console)
    for told in (console.file.getvalue(), report.csv()):  # type: ignore[attr-defined]
        assert all(word in told for word in ("counted <b>", "toy", "held", "share", "a line that counts"))
    assert "and 1 more" in console.file.getvalue() and report.csv().count("toy,held,0.5,0.4,0.6,a red dog") == 3  # type: ignore[attr-defined]


@pytest.mark.slow
def test_killed_it_goes_on_and_does_nothing_twice(outputs: Path) -> None:
    asked = Count(most=60)
    folder = begin(count, asked, Slowly(wait=0.05))
    reaches(folder, "going", done=5)
    process = job_folder._children[-1]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert status_of(folder).state == "stopped" and "killed" in status_of(folder).trouble
    begin(count, asked, Slowly())
    reaches(folder, "finished")
    assert (folder / "kept.txt").read_text().split() == [str(each) for each in range(60)]
    assert report_of(folder) == count(Count(most=60)), "as the undisturbed one"


@pytest.mark.slow
def test_stopped_it_goes_on_and_nobody_works_beside_it(outputs: Path) -> None:
    asked = Count(most=60)
    folder = begin(count, asked, Slowly(wait=0.05))
    reaches(folder, "going", done=2)
    with pytest.raises(DiscoverError, match="at work"):
        do(count, asked)
    assert begin(count, asked) == folder and len(job_folder._children) == len(
        {each.pid for each in job_folder._children}
    )
    stop(folder)
    reaches(folder, "stopped")
    assert report_of(folder) is None and count(asked).plain == {"counted": 60}


@pytest.mark.slow
def test_a_stop_before_the_process_has_begun_is_heard(outputs: Path) -> None:
    folder = begin(count, Count(most=400), Slowly(wait=0.05))
    stop(folder)
    reaches(folder, "stopped")
    assert status_of(folder).done < 5


@pytest.mark.slow
def test_it_goes_on_when_whoever_began_it_has_ended(outputs: Path) -> None:
    names = "from toy_desk import *; from discover_lib.tasks.waist import begin"
    beginner = f"{names}; begin(count, Count(most=30), Slowly(wait=0.05))"
    subprocess.run([sys.executable, "-c", beginner], check=True)
    reaches(count.folder(Count(most=30)), "finished")


def test_what_breaks_is_told_and_can_be_gone_on_with(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toy_desk.time, "sleep", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        count(Count())
    now = status_of(count.folder(Count()))
    assert (now.state, now.trouble) == ("failed", "ZeroDivisionError: division by zero")
    monkeypatch.undo()


@pytest.mark.slow
def test_a_process_that_never_begins_is_told(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waist.sys, "executable", "false")
    monkeypatch.setattr(waist, "BEGINS_IN", 0.2)
    reaches(begin(count, Count()), "failed")
    assert "it never began" in status_of(count.folder(Count())).trouble


def test_a_folder_of_another_question_is_refused(outputs: Path) -> None:
    folder = count.folder(Count(most=7))
    count(Count(most=7))
    settled = json.loads((folder / waist.OPTIONS).read_bytes())
    (folder / waist.OPTIONS).write_text(json.dumps(settled | {"asked": {"most": 8}}))
    with pytest.raises(DiscoverError, match="another question"):
        count(Count(most=7))


def test_a_desk_that_keeps_nothing_writes_nothing_into_the_run_and_says_what_it_read(outputs: Path) -> None:
    run = outputs / "run"
    run.mkdir()
    execute(lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1, turns=1)), run)
    before = {path.name for path in run.iterdir()} | {"run.sqlite-shm", "run.sqlite-wal"}  # of whoever reads it
    report = about(About(run=run, seed=4))
    assert report.plain == 4 and {path.name for path in run.iterdir()} <= before
    assert report.made_of == reading_of(About(run=run)) and report.made_of["run"]["finished"] == 1
    moved = Run(shutil.move(run, outputs / "moved"))
    assert reading_of(About(run=moved)) == report.made_of
    there = about.folder(About(run=moved, seed=4))
    assert there.parent.parent == moved and there.name != about.folder(About(run=moved)).name


NUMBERS = ("0.92 [0.86, 0.96]", "0.31 [0.26, 0.36]", "−0.11 [−0.16, −0.06]")
NAMES = ("adaptive", "hf:outputs/models/a-very-long-name-of-a-tuned-model", "draft", "ask")


@pytest.mark.parametrize("width", [20, 40, 80, 100, 160])
def test_a_number_and_its_interval_stand_on_one_line_however_narrow_the_terminal(width: int) -> None:
    screen = Console(width=width, file=io.StringIO())
    rows = tuple((name, *NUMBERS) for name in NAMES)
    Table(("assistant", "discovery", "found", "reward"), rows, "a title").print(screen)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= width
    if width > 20:
        assert all(shown.count(number) == len(NAMES) for number in NUMBERS) and "…" not in shown
        assert shown.count("discovery") == {40: 4, 80: 2, 100: 2, 160: 1}[width]
        assert [name for name in NAMES if name[:8] in shown] == [*NAMES]
