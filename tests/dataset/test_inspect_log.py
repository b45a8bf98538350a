"""Runs as logs of Inspect, opened by Inspect itself, and back; and the logs of Inspect's benchmarks."""

import math
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.inspect_log import SCORER, Answer, as_score, import_log, read_benchmark, write_log
from discover_lib.metrics.results import Pool, tidy_rows
from discover_lib.runs.evaluation import lay_out_evaluation, write_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import stored_scores


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    execute(lay_out(RunOptions(("adaptive", "ask"), domain="creative_writing", artifacts=4, trials=2)), folder)
    return folder


def written(run: Path, path: Path) -> Path:
    with RunStore.read(run) as store:
        write_log(path, store)
    return path


def imported(log: Path, folder: Path) -> Path:
    folder.mkdir()
    import_log(log, folder)
    return folder


@pytest.mark.integration("inspect")
def test_inspect_reads_what_the_run_holds(run: Path, tmp_path: Path) -> None:
    from inspect_ai.analysis import messages_df, samples_df
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(written(run, tmp_path / "run.eval")))
    with RunStore.read(run) as store:
        talks = list(store.conversations())
        scores = list(stored_scores(store))
    assert [sample.store["conversation"] for sample in log.samples or ()] == [talk.to_dict() for talk in talks]
    for sample, talk, own in zip(log.samples or (), talks, scores, strict=True):
        assert [(each.role, each.text) for each in sample.messages] == [(m.role, m.content) for m in talk.messages()]
        value = (sample.scores or {})[SCORER].value
        assert value == {
            "discovered": own.discovered, "share": own.share_discovered, "reward": own.reward,
            "tokens": sum(own.tokens), "leaks": own.leaks,
        }  # fmt: skip
    assert log.results is not None
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert math.isclose(means["reward"], math.fsum(own.reward or 0 for own in scores) / 16, abs_tol=1e-12)
    assert log.eval.viewer is not None and log.eval.viewer.task_samples_view is not None
    assert len(samples_df(str(tmp_path / "run.eval"))) == 16
    assert len(messages_df(str(tmp_path / "run.eval"))) == sum(len(talk.messages()) for talk in talks)


@pytest.mark.integration("inspect")
def test_an_evaluation_comes_back_with_every_number_of_its_tables(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    options = RunOptions(("draft", "adaptive"), artifacts=2, turns=3)
    execute(lay_out_evaluation(options, ("svg_drawing",)), folder)
    back = imported(written(folder, tmp_path / "run.eval"), tmp_path / "back")
    first, second = (write_evaluation(each).scopes for each in (folder, back))
    assert second == first and "satisfaction" in first["all"].table["draft"]
    with RunStore.read(folder) as ours, RunStore.read(back) as theirs:
        assert list(theirs.lines()) == list(ours.lines())  # the finished pieces too
        assert tidy_rows(Pool(stored_scores(theirs))) == tidy_rows(Pool(stored_scores(ours)))
        assert [theirs.assessment(place) for place in range(4)] == [ours.assessment(place) for place in range(4)]


@pytest.mark.integration("inspect")
def test_a_log_of_others_is_refused_in_a_line(tmp_path: Path) -> None:
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model

    task = inspect_ai.Task(dataset=[Sample(input="What is 2 + 2?", id="sum")], name="sums")
    (log,) = inspect_ai.eval(task, model=get_model("mockllm/model"), log_dir=str(tmp_path / "logs"), display="none")
    with pytest.raises(DiscoverError, match=r"^[^\n]*: sample sum is not a conversation of this project$"):
        imported(Path(log.location.removeprefix("file://")), tmp_path / "run")


@pytest.mark.parametrize(
    ("value", "number"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (True, 1.0), (0.3, 0.3), ("false", 0.0), (" 0.75 ", 0.75)]
    + [(value, None) for value in ("maybe", "nan", "inf", None, [1], {"a": 1}, float("nan"))],
)
def test_scores_are_numbers_or_nothing(value: Any, number: float | None) -> None:
    assert as_score(value) == number


@pytest.mark.integration("inspect")
@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspect_s_log_is_read_by_inspect(tmp_path: Path, kind: Any) -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalError, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    def sample(place: int, asked: Any, reply: str, value: Any, **more: Any) -> EvalSample:
        output = ModelOutput.from_content("m", reply)
        scores = {"judge": Score(value=value)}
        return EvalSample(id=place, epoch=1, input=asked, target="", output=output, scores=scores, **more)

    failed = EvalError(message="it broke", traceback="", traceback_ansi="")
    asked = [ChatMessageSystem(content="be kind"), ChatMessageUser(content="draw a fox")]
    samples = [
        sample(1, "draw an owl", "I can't", "C"),
        sample(2, asked, "here", {"harm": 3, "x": "?"}),
        sample(3, "draw a crow", "", "I", error=failed),
    ]
    spec = EvalSpec(created="2026-01-01T00:00:00Z", task="t", dataset=EvalDataset(), model="m", config=EvalConfig())
    path = tmp_path / f"log.{kind}"
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), str(path), format=kind)
    assert read_benchmark(path) == [
        Answer("draw an owl", "I can't", {"judge": 1.0}),
        Answer("draw a fox", "here", {"judge.harm": 3.0}),
        Answer("draw a crow", None, {"judge": 0.0}),
    ]
    path.write_bytes(b"PK nonsense")
    with pytest.raises(DiscoverError, match="not a log of Inspect") as refused:
        read_benchmark(path)
    assert "\n" not in str(refused.value)
