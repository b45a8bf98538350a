"""What the simulator's page says and offers of a session."""

import dataclasses
from pathlib import Path

import pytest

from workbench.pages import conversation_page
from workbench.session import Session
from workbench.sources import Settings, miniature_artifacts


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return Session(Settings(artifact=next(iter(miniature_artifacts("svg_drawing").values()))))


def test_an_unknown_session_begins_anew(session: Session) -> None:
    fresh, trouble = conversation_page.opened("abcdef123456")
    assert fresh is not None and fresh.id != "abcdef123456" and trouble
    again, trouble = conversation_page.opened(session.id)
    assert again is not None and (again.id, trouble) == (session.id, "")


def test_only_a_step_that_asks_a_model_is_waited_for(session: Session) -> None:
    assert not conversation_page.asks_a_model(session, session.next)
    session.settings = dataclasses.replace(session.settings, voice="openai/some")
    assert conversation_page.asks_a_model(session, session.next) and not conversation_page.asks_a_model(
        session, session.jump
    )
