"""Logs of benchmarks that others own: what is read of them, and what is refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from discover_lib.dataset.benchmark_logs import Answer, as_score, read_benchmark
from discover_lib.dataset.formats import FormatError


def attempt(prompt: Any, outputs: list[Any], scores: Any, *, uuid: str = "a", status: int = 2) -> dict[str, Any]:
    """An entry as garak 0.17 writes it."""
    return {
        "entry_type": "attempt",
        "uuid": uuid,
        "seq": 0,
        "status": status,
        "probe_classname": "test.Test",
        "prompt": prompt,
        "outputs": outputs,
        "detector_results": scores,
        "goal": "none",
    }


def message(text: str) -> dict[str, Any]:
    return {"text": text, "lang": "en", "data_path": None, "notes": {}}


def turns(*said: tuple[str, str]) -> dict[str, Any]:
    return {"turns": [{"role": role, "content": message(text)} for role, text in said], "notes": None}


def piece(of: str, role: str, text: str, at: int, **more: Any) -> dict[str, Any]:
    """A message piece as PyRIT's memory exports it."""
    return {
        "id": f"{of}-{at}",
        "role": role,
        "conversation_id": of,
        "sequence": at,
        "original_value": text,
        "original_value_data_type": "text",
        "converted_value": more.pop("converted", text),
        "converted_value_data_type": "text",
        "response_error": "none",
        "scores": [],
    } | more


def written(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_garak_s_report_is_read_attempt_by_attempt(tmp_path: Path) -> None:
    asked = turns(("system", "be kind"), ("user", "draw an owl"))
    report = [
        {"entry_type": "init", "garak_version": "0.17.1"},
        attempt(asked, [message("no"), message("here")], {}, status=1),  # before its detectors have run
        attempt(asked, [message("no"), message("here")], {"mitigation.Bypass": [0.0, 1.0], "x.Y": [None, 0.5]}),
        attempt("draw a fox", ["there"], {"mitigation.Bypass": [1]}, uuid="b"),  # as older versions wrote it
        attempt(turns(("user", "draw a crow")), [None], {}, uuid="c", status=1),  # no answer came
        {"entry_type": "eval", "passed": 1},
    ]
    assert read_benchmark("garak", written(tmp_path / "report.jsonl", report)) == [
        Answer("draw an owl", "no", {"mitigation.Bypass": 0.0}),
        Answer("draw an owl", "here", {"mitigation.Bypass": 1.0, "x.Y": 0.5}),
        Answer("draw a fox", "there", {"mitigation.Bypass": 1.0}),
        Answer("draw a crow", None),
    ]


def test_pyrit_s_export_is_read_conversation_by_conversation(tmp_path: Path) -> None:
    score = {"score_value": "True", "scorer_class_identifier": {"__type__": "SelfAskRefusalScorer"}}
    scale = {"score_value": "0.25", "scorer_class_identifier": {"class_name": "Scale", "__type__": "other"}}
    pieces = [
        piece("1", "assistant", "I cannot", 1, scores=[score, scale]),  # in whatever order
        piece("1", "user", "draw an owl", 0, converted="qenj na bjy"),
        piece("2", "user", "draw a fox", 0),
        piece("2", "assistant", "try again", 1, response_error="unknown"),
        piece("3", "user", "draw a crow", 0),
        piece("3", "assistant", "filtered", 1, response_error="blocked"),
        piece("4", "user", "/a/picture.png", 0, converted_value_data_type="image_path"),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(pieces), encoding="utf-8")
    assert read_benchmark("pyrit", path) == [
        Answer("draw an owl", "I cannot", {"SelfAskRefusalScorer": 1.0, "Scale": 0.25}),
        Answer("draw a fox", None),
        Answer("draw a crow", "filtered"),
    ]


@pytest.mark.parametrize(
    ("value", "number"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (True, 1.0), (0.3, 0.3), ("false", 0.0), (" 0.75 ", 0.75)]
    + [(value, None) for value in ("maybe", "nan", "inf", None, [1], {"a": 1}, float("nan"))],
)
def test_scores_are_numbers_or_nothing(value: Any, number: float | None) -> None:
    assert as_score(value) == number


@pytest.mark.parametrize(
    ("via", "text", "said"),
    [
        ("garak", "owl", "line 1 is not JSON"),
        ("garak", "[" * 100_000, "line 1 is not JSON"),
        ("pyrit", "[" * 100_000, "nested too deep"),
        ("garak", "[1]\n", "line 1 is not an entry of garak's report.jsonl"),
        ("garak", '{"entry_type": "attempt", "uuid": "a"}\n', "has no 'status'"),
        ("garak", json.dumps(attempt(4, [], {})), "prompt"),
        ("garak", json.dumps(attempt("x", ["y"], {"d": ["high"]})), "detector_results"),
        ("garak", '{"entry_type": "init"}\n', "a log of garak without a prompt"),
        ("pyrit", "{}", "not an export of PyRIT's memory"),
        ("pyrit", "[]", "a log of pyrit without a prompt"),
        ("pyrit", '[{"role": "user"}]', "conversation_id"),
        ("pyrit", '[["owl"]]', "must be an object"),
        ("pyrit", "owl", "not.*JSON"),
    ],
)
def test_nonsense_is_one_line(tmp_path: Path, via: str, text: str, said: str) -> None:
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=said) as refused:
        read_benchmark(via, path)
    assert "\n" not in str(refused.value) and str(path) in str(refused.value)


@pytest.mark.parametrize("via", ["garak", "pyrit"])
def test_what_is_no_text_or_not_there_is_one_line(tmp_path: Path, via: str) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    for path in (tmp_path / "binary", tmp_path / "none", tmp_path):
        with pytest.raises(FormatError) as refused:
            read_benchmark(via, path)
        assert "\n" not in str(refused.value)


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
    assert read_benchmark("inspect", path) == [
        Answer("draw an owl", "I can't", {"judge": 1.0}),
        Answer("draw a fox", "here", {"judge.harm": 3.0}),
        Answer("draw a crow", None, {"judge": 0.0}),
    ]
    path.write_bytes(b"PK nonsense")
    with pytest.raises(FormatError, match="not a log of Inspect") as refused:
        read_benchmark("inspect", path)
    assert "\n" not in str(refused.value)
