"""Logs of Inspect's benchmarks: what is read of them, and what is refused in one line."""

from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.inspect_log import Answer, as_score, read_benchmark


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
