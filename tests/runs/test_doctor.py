"""Which role talks to what: one line per role, whatever is behind it, and never a key."""

import pytest
from llm_server import FakeServer
from typer.testing import CliRunner

from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.runs.doctor import check_connection
from workbench.main import app

pytestmark = pytest.mark.slow

KEY = "sk-very-secret-0123456789"


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


@pytest.mark.parametrize("fault", ["401", "404", "500", "cut_before", "malformed_body"])
def test_what_does_not_work_is_one_line(fault: str) -> None:
    with FakeServer() as server:
        server.script.append(fault)
        (line,) = check_connection({"judge": "openai/one"}, ClientSettings(api_base=server.api_base, env_file=None))
        assert server.counts["requests"] == 1
    assert not line.works and "\n" not in line.text and "openai/one" in line.text


def test_doctor_asks_the_models_that_it_is_given() -> None:
    with FakeServer() as server:
        arguments = ["doctor", "--api-base", server.api_base, "--judge", "openai/one"]
        good = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert good.exit_code == 0 and "answered" in good.stdout
        server.script.append("401")
        bad = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert bad.exit_code == 1 and "✗" in bad.stdout
