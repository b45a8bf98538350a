"""What the simulator's page says and offers of a session."""

import dataclasses
from pathlib import Path

import pytest

from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DOMAINS
from workbench import simulator_page
from workbench.session import Session
from workbench.sources import Settings, assistant_names, miniature_artifacts


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return Session(Settings(artifact=next(iter(miniature_artifacts("svg_drawing").values()))))


def test_the_stage_offers_every_user_with_a_line_about_each_assistant_and_rules(session: Session) -> None:
    setup = simulator_page.setup(session)
    assert [source["value"] for source in setup["users"]] == ["miniature", "recorded"]
    kinds = {source["value"]: [kind["value"] for kind in source["domains"]] for source in setup["users"]}
    assert kinds == {"miniature": list(ALL_DOMAINS), "recorded": list(DOMAINS)}
    assert all(kind["users"] for source in setup["users"] for kind in source["domains"])
    assert all(choice["about"] for choice in setup["assistants"] + setup["rules"])
    assert {choice["value"] for choice in setup["assistants"]} == set(assistant_names())
    assert setup["chosen"]["artifact"] == session.settings.artifact and setup["before"] == ""
    assert simulator_page.setup(session, session)["before"] == simulator_page.title(session)


def test_an_unknown_session_begins_anew(session: Session) -> None:
    fresh, trouble = simulator_page.opened("abcdef123456")
    assert fresh is not None and fresh.id != "abcdef123456" and trouble
    again, trouble = simulator_page.opened(session.id)
    assert again is not None and (again.id, trouble) == (session.id, "")


def test_only_a_step_that_asks_a_model_is_waited_for(session: Session) -> None:
    assert not simulator_page.asks_a_model(session, session.next)
    session.settings = dataclasses.replace(session.settings, voice="openai/some")
    assert simulator_page.asks_a_model(session, session.next) and not simulator_page.asks_a_model(session, session.jump)
