"""Sessions with language models: the same as with the miniature when they say the same, stopped when told to."""

import dataclasses
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer, Faults

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.llm.calls import wires
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.voice import MiniatureVoice
from workbench.live import Calls
from workbench.pages.intents_page import ModelBuild
from workbench.session import Session, SessionError, Settings

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
PLAIN = Settings(domain=DOMAIN, artifact="creative_writing-eval-000", seed=3)


def with_models(server: FakeServer, settings: Settings = PLAIN) -> Settings:
    changes = {"judge": MODEL, "voice": MODEL, "assistant": f"{MODEL}:adaptive", "api_base": server.api_base}
    return dataclasses.replace(settings, **changes)


@pytest.mark.slow
def test_models_that_speak_the_miniatures_truth_give_its_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The miniature behind the wire draws from the seed it is sent, so it is sent all of it, not what providers take.
    monkeypatch.setattr(wires, "LARGEST_SEED", 2**63 - 1)
    # A user's temperament comes from the seed of the conversation, which does not go over the wire.
    monkeypatch.setattr(MiniatureVoice, "of", lambda voice, user: voice)
    alone = Session(PLAIN, folder=tmp_path)
    with FakeServer(llm_brain.answer) as server:
        asked = Session(with_models(server), folder=tmp_path)
        assert server.counts["requests"] == 0
        for session in (alone, asked):
            while session.cursor < session.scored_turns:
                session.next()
    ours, theirs = alone.conversation, asked.conversation
    assert [turn.after for turn in theirs.turns] == [turn.after for turn in ours.turns]
    assert [turn.user_message for turn in theirs.turns] == [turn.user_message for turn in ours.turns]
    assert [turn.reply.text for turn in theirs.turns] == [turn.reply.text for turn in ours.turns]
    assert theirs.setting["engine"] == MODEL and asked.calls.line.startswith("15 calls")
    assert Session.load(asked.id, tmp_path).settings == asked.settings


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["401", "timeout"])
def test_what_fails_changes_nothing(fault: str, tmp_path: Path) -> None:
    with FakeServer(llm_brain.answer, faults=Faults(timeout_seconds=120)) as server:
        session = Session(with_models(server), folder=tmp_path)
        server.script.extend([fault] * 3)
        before = session.conversation
        if fault == "timeout":
            threading.Timer(0.3, session.cancel).start()
        began = time.monotonic()
        with pytest.raises(SessionError, match="stopped" if fault == "timeout" else MODEL):
            session.next()
        assert time.monotonic() - began < 60  # a request that times out is held for two minutes
        assert session.conversation == before and session.cursor == 0
        server.script.clear()
        assert session.next().index == 1


@pytest.mark.slow
def test_a_tree_is_built_from_its_page_and_a_failure_is_paid_for_once() -> None:
    domain = "technical_writing"  # elsewhere the miniature's broadest items say no more than its topics
    artifact = llm_brain.within_reach(domain)
    with FakeServer(llm_brain.answer) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None, max_attempts=1)
        choice = SimpleNamespace(builder=f"openai/miniature:{domain}", client_settings=settings)
        build: Any = SimpleNamespace(artifact=artifact, calls=Calls(), _stop=threading.Event())
        server.script += [None, "500"]
        with pytest.raises(DiscoverError, match="stage abstraction"):
            ModelBuild._build(build, choice)
        ModelBuild._build(build, choice)
    assert build.built.tree == engine(domain).builder.build(artifact).tree
    assert build.calls.line.startswith(f"{server.counts['requests'] - 1} calls")
