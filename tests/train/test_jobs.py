"""Training runs as processes: begun once, watched, stopped, killed, resumed without torch; and their alarms."""

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.job_folder import working
from discover_lib.train import training_job as jobs
from discover_lib.train.training_job import ALARMS, WINDOW, TrainingJob, alarms

STEPS = 40


SETTINGS = {"stage": "sft", "seed": 0, "recipe": {"sft": {"learning_rate": 1e-3, "epochs": 3}}}

# A trainer with the habits of the real one: logs every step, saves every fifth, heeds STOP, goes on from what it saved.
TRAINER = f"""
import json, sys, time
from pathlib import Path
from types import SimpleNamespace
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from discover_lib.train import training_job as jobs

def train(folder, report, steps={STEPS}, pause=float(sys.argv[2]) if len(sys.argv) > 2 else 0.02):
    first = jobs.last_checkpoint(folder) or 0
    jobs.go_back(folder, first)
    report("training")
    for step in range(first + 1, steps + 1):
        if step == int(sys.argv[3] if len(sys.argv) > 3 else -1):
            raise RuntimeError("the model is\\ntoo large")
        time.sleep(pause)
        with (folder / jobs.METRICS).open("a") as file:
            file.write(json.dumps({{"step": step, "total_steps": steps, "loss": 1 / step}}) + "\\n")
        stop = (folder / jobs.STOP).exists()
        if step % 5 == 0 or stop:
            (folder / "checkpoints" / f"checkpoint-{{step}}").mkdir(parents=True)
        if stop:
            report("a checkpoint is saved")
            return SimpleNamespace(stopped=True, halt="")
    report("done")
    (folder / jobs.RESULT).write_text("{{}}")
    return SimpleNamespace(stopped=False, halt="")

if __name__ == "__main__":
    jobs.work_on(Path(sys.argv[1]), lambda line: None, train)
"""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., TrainingJob]]:
    """Begin a run of the trainer above; whatever it leaves running is ended."""
    script = tmp_path / "trainer.py"
    script.write_text(TRAINER)
    made: list[TrainingJob] = []

    def make(folder: Path | None = None, *arguments: str, settings: Any = SETTINGS) -> TrainingJob:
        place = folder or tmp_path / "outputs" / "run"
        made.append(jobs.launch(settings, place, [sys.executable, str(script), str(place), *arguments]))
        return made[-1]

    yield make
    for job in made:
        status = job.status()
        if status.going:
            os.kill(status.pid, signal.SIGKILL)


def steps_of(job: TrainingJob) -> list[int]:
    return [line["step"] for line in job.metrics()]


@pytest.mark.slow
def test_a_run_is_watched_to_its_end_and_is_not_begun_twice(begin: Callable[..., TrainingJob], tmp_path: Path) -> None:
    job = begin()
    first = job.status()
    assert first.going and first.pid != os.getpid() and os.getsid(first.pid) != os.getsid(0)
    with pytest.raises(DiscoverError, match="at work here"):
        begin(job.folder)
    now = job.wait(120)
    assert (now.state, now.step, now.total_steps, now.message) == ("finished", STEPS, STEPS, "done")
    assert steps_of(job) == list(range(1, STEPS + 1)) and now.resumed == ()
    assert "training\ndone" in (job.folder / jobs.LOG).read_text()
    with pytest.raises(DiscoverError, match="finished; take another folder"):
        job.resume()
    assert jobs.find_jobs(tmp_path / "outputs") == {"run": job} and jobs.find_jobs(tmp_path) == {"outputs/run": job}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["the file", "SIGTERM"])
def test_a_clean_stop_saves_and_the_run_goes_on_from_there(asked: str, begin: Callable[..., TrainingJob]) -> None:
    job = begin()
    until(lambda: job.status().step >= 3)
    if asked == "the file":
        job.stop()
        assert job.status().state in ("stopping", "stopped")
    else:
        os.kill(job.status().pid, signal.SIGTERM)
    stopped = job.wait(120)
    assert stopped.state == "stopped" and stopped.resumable and jobs.last_checkpoint(job.folder) == stopped.step < STEPS
    begin(job.folder)
    finished = job.wait(120)
    assert (finished.state, finished.resumed) == ("finished", (stopped.step,))
    assert steps_of(job) == list(range(1, STEPS + 1)) and finished.started == stopped.started


@pytest.mark.slow
def test_killed_at_any_step_it_goes_on_from_the_last_checkpoint(begin: Callable[..., TrainingJob]) -> None:
    job = begin()
    resumed: list[int] = []
    for least in (3, 12):
        until(lambda least=least: job.status().step >= least)
        os.kill(job.status().pid, signal.SIGKILL)
        killed = until(lambda: None if (now := job.status()).going else now)
        saved = jobs.last_checkpoint(job.folder) or 0
        assert killed.state == "stopped" and killed.message.startswith("killed")
        assert saved <= killed.step < saved + 6 and (not saved or f"from step {saved}" in killed.message)
        begin(job.folder)
        resumed += [saved] if saved else []
    now = job.wait(120)
    assert (now.state, now.resumed) == ("finished", tuple(resumed)) and steps_of(job) == list(range(1, STEPS + 1))


@pytest.mark.slow
def test_a_failure_is_one_line_in_the_status_and_whole_in_the_log(begin: Callable[..., TrainingJob]) -> None:
    job = begin(None, "0", "7")
    failed = job.wait(120)
    assert (failed.state, failed.message, failed.step) == ("failed", "the model is; too large", 6)
    assert failed.resumable and "RuntimeError: the model is" in (job.folder / jobs.LOG).read_text()


@pytest.mark.slow
def test_of_two_starts_at_once_one_is_refused(begin: Callable[..., TrainingJob], tmp_path: Path) -> None:
    refused: list[str] = []

    def attempt() -> None:
        try:
            begin(tmp_path / "outputs" / "run")
        except DiscoverError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3 and all("at work here" in line for line in refused)
    assert TrainingJob(tmp_path / "outputs" / "run").wait(120).state == "finished"


def test_a_run_goes_on_as_long_as_its_folder_is_held(tmp_path: Path) -> None:
    job = TrainingJob(tmp_path)
    (tmp_path / jobs.STATUS).write_text(json.dumps({"state": "running", "pid": os.getpid()}))
    assert job.status().state == "stopped" and "begin again" in job.status().message
    with working(tmp_path, 0):
        assert job.status().state == "running"
    for updated, state in ((time.time(), "starting"), (time.time() - jobs.BEGINS_IN, "failed")):
        (tmp_path / jobs.STATUS).write_text(json.dumps({"state": "starting", "updated": updated}))
        assert job.status().state == state


def test_a_folder_of_something_else_is_refused(begin: Callable[..., TrainingJob], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "letter.txt").write_text("keep me")
    with pytest.raises(DiscoverError, match="other files"):
        begin(tmp_path / "notes")
    with pytest.raises(DiscoverError, match="cannot be written to"):
        begin(tmp_path / "notes" / "letter.txt")
    with pytest.raises(DiscoverError, match="no training run here"):
        TrainingJob(tmp_path / "nowhere").status()


def test_half_lines_are_skipped_and_lines_after_a_checkpoint_are_dropped(tmp_path: Path) -> None:
    path, lines = tmp_path / jobs.METRICS, [{"step": step, "text": "ü\u2028"} for step in (5, 5, 10, 12)]
    whole = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        assert jobs.read_lines(path) == lines[: whole[:cut].count(b"\n") + whole[:cut].endswith(b"}")]
    path.write_bytes(whole + b'{"step": 13, "te')
    jobs.go_back(tmp_path, 10)
    assert jobs.read_lines(path) == lines[:3] and jobs.read_lines(tmp_path / "none") == []


def logged(column: str, *values: float | None) -> list[dict[str, Any]]:
    return [{"step": step, column: value} for step, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("kl", [0.01] * 5 + [0.3] * 5, "far from the reference (KL 0.30 per token)"),
        ("kl", [0.3] * 5 + [0.1] * 5, ""),
        ("kl", [0.9] * 4, ""),  # too few to tell
        ("entropy", [2.0] * 5 + [0.5] * 5, "entropy is 25% of its first value"),
        ("entropy", [0.5] * 5 + [2.0] * 5, ""),
        ("completions/mean_length", [100.0] * 5 + [180.0] * 5, "replies are 1.8 times as long as at first"),
        ("completions/clipped_ratio", [0.0, 0.5, 0.5, 0.5, 0.5], "40% of the replies are cut off"),
        ("frac_reward_zero_std", [0.75] * 5, "in 75% of the groups all rewards are equal"),
        ("share/repeated", [0.4] * 5, "40% of the replies repeat another reply of their group"),
        ("share/near_misses", [0.7] * 5, "70% of the rewarded state changes come from near misses"),
        ("share/unscored", [0.05] * 5, ""),
        ("reward", [-9.0] * 9, ""),  # low, and no sign of anything by itself
    ],
)
def test_what_is_amiss_is_said_with_its_figure(column: str, values: list[float], words: str) -> None:
    found = alarms(logged(column, *values))
    assert set(found) == ({column} if words else set())
    assert not words or found[column].startswith(words)


def test_lines_without_the_figure_do_not_count() -> None:
    assert alarms(logged("kl", *[0.9] * (WINDOW - 1), None, None)) == {}


def test_the_documented_thresholds_are_those_of_the_alarms() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "training.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)`[^|]*\|.*\| ([<>]) ([\d.]+)( × the first)? \|$", text, flags=re.MULTILINE)
    documented = {(column, sign == "<", float(limit), bool(first)) for column, sign, limit, first in rows}
    assert documented == {(each.column, each.falling, each.limit, each.relative) for each in ALARMS}
