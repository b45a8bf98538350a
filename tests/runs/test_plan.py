"""Plans: what a run will take, held against what it took; and which role talks to what, without a key."""

import dataclasses

import llm_brain
import pytest
from llm_server import FakeServer
from typer.testing import CliRunner

from discover_lib.engines.llm.calls.client import ClientSettings, Price
from discover_lib.runs.doctor import check_connection
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.plan import FINAL, plan_run
from discover_lib.runs.units import SCORING
from workbench.main import app

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
PRICES = {MODEL: Price(0.5, 3.0)}
OPTIONS = RunOptions(("adaptive",), domain=DOMAIN, engine=MODEL, artifacts=8)


def settings(server: FakeServer | None = None) -> ClientSettings:
    return ClientSettings(api_base=server.api_base if server else None, env_file=None, prices=PRICES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({}, {"judge": 8 * 5, "voice": 8 * 4}),
        ({"evaluated": True}, {"judge": 40, "voice": 32, **dict.fromkeys(SCORING, 8)}),
        (
            {"evaluated": True, "assistants": (MODEL, "draft")},
            {"assistant": 40, FINAL: 8, "judge": 80, "voice": 64, **dict.fromkeys(SCORING, 16)},
        ),
        ({"turns": 1}, {"judge": 8, "voice": 0}),
        ({"assistants": ("adaptive", "draft")}, {"judge": 80, "voice": 64}),
        ({"assistants": ("adaptive", "draft"), "candidates": 2}, {"judge": 160, "voice": 32}),
        ({"assistants": (MODEL,), "trials": 2}, {"assistant": 80, "judge": 80, "voice": 64}),
        ({"assistants": (MODEL,), "judge": "miniature", "voice": "miniature"}, {"assistant": 40}),
        ({"voice": "miniature"}, {"judge": 40}),
    ],
)
def test_calls_follow_from_the_configuration(changes, calls):
    evaluated = changes.pop("evaluated", False)
    options = dataclasses.replace(OPTIONS, **changes)
    run = lay_out_evaluation(options) if evaluated else lay_out(options)
    stages = {stage.name: stage for stage in plan_run(run, settings=settings()).stages}
    assert set(stages) == set(calls)
    for name, count in calls.items():
        again = 1.0 if name in ("assistant", FINAL) else 1.02  # structured answers that are asked for again
        assert stages[name].calls.expected == pytest.approx(count * again)
        assert stages[name].calls.low <= count <= stages[name].calls.high


ASSISTANT = f"{MODEL}:adaptive"


@pytest.mark.slow
def test_the_calls_of_an_evaluation_agree_with_the_meter_within_a_fifth(tmp_path):
    run = lay_out_evaluation(RunOptions(("adaptive", ASSISTANT), engine=MODEL, artifacts=8), [DOMAIN])
    priced = {MODEL: PRICES[MODEL], ASSISTANT: PRICES[MODEL]}
    with FakeServer(llm_brain.answer) as server:
        reached = ClientSettings(api_base=server.api_base, env_file=None, prices=priced)
        spent = execute(run, tmp_path, concurrency=8, settings=reached).last.spent
    assert plan_run(run, settings=reached).calls.expected == pytest.approx(spent.calls, rel=0.2)


KEY = "sk-very-secret-0123456789"


@pytest.mark.slow
def test_each_model_is_asked_once_and_the_miniature_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with FakeServer() as server:
        settings = ClientSettings(api_base=server.api_base, key_variable="MY_KEY", env_file=None)
        roles = {"judge": "openai/one", "voice": "openai/one", "assistant": "openai/two+clarifying"}
        roles["tree builder"] = "miniature"
        lines = {each.role: each for each in check_connection(roles, settings)}
        assert server.counts["requests"] == 2 and server.headers["authorization"] == f"Bearer {KEY}"
    assert all(each.works for each in lines.values())
    assert server.api_base in lines["judge"].text and "answered" in lines["judge"].text
    assert "openai/two" in lines["assistant"].text and "no model" in lines["tree builder"].text
    assert KEY not in "".join(each.text for each in lines.values())


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["401", "404", "500", "cut_before", "malformed_body"])
def test_what_does_not_work_is_one_line(fault: str) -> None:
    with FakeServer() as server:
        server.script.append(fault)
        (line,) = check_connection({"judge": "openai/one"}, ClientSettings(api_base=server.api_base, env_file=None))
        assert server.counts["requests"] == 1
    assert not line.works and "\n" not in line.text and "openai/one" in line.text


@pytest.mark.slow
def test_doctor_asks_the_models_that_it_is_given() -> None:
    with FakeServer() as server:
        arguments = ["doctor", "--api-base", server.api_base, "--judge", "openai/one"]
        good = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert good.exit_code == 0 and "answered" in good.stdout
        server.script.append("401")
        bad = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert bad.exit_code == 1 and "✗" in bad.stdout
