"""A session at the simulator: stepping, branches, time travel, own replies, language models, and coming back to it."""

import dataclasses
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer, Faults

from discover_lib import replay
from discover_lib.base.errors import DiscoverError
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.llm.calls import wires
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.voice import MiniatureVoice
from workbench.live import Calls
from workbench.pages.intents_page import ModelBuild
from workbench.session import Session, SessionError, Settings
from workbench.sources import find_artifact

LIVE = Settings(domain="creative_writing", artifact="creative_writing-eval-000", seed=3)
RECORDED = Settings(source="recorded", domain="svg_drawing", artifact="night_harbour")


@pytest.fixture
def live(tmp_path: Path) -> Session:
    return Session(LIVE, folder=tmp_path)


def play_on(session: Session) -> None:
    while session.why_no_next is None and session.cursor < session.scored_turns:
        session.next()


def test_next_to_the_end_is_the_same_conversation_as_a_rollout(live: Session) -> None:
    play_on(live)
    tools = engine(LIVE.domain)
    tree = tools.builder.build(find_artifact(LIVE.domain, LIVE.artifact)).tree
    assistant = scripted_assistant(LIVE.assistant, LIVE.domain)
    alone = run_conversation(tree, tools.judge, tools.voice, [assistant], seed=LIVE.seed)
    *before, last = live.conversation.turns
    assert last.user_message, "the user answers the last reply, too"
    unanswered = dataclasses.replace(last, user_message=None, leaks=(), flaws=())
    assert dataclasses.replace(live.conversation, turns=(*before, unanswered), setting={}) == alone
    assert live.cursor == live.scored_turns == 5 and live.conversation.stop == "max_turns"
    assert live.next().index == 6 and live.conversation.turns[:5] == (*before, last)


def test_jumping_looks_back_and_next_shows_what_is_known(live: Session) -> None:
    play_on(live)
    whole = live.conversation
    live.jump(2)
    assert live.state == whole.state_after(2) and live.turn == whole.turns[1]
    assert live.next() == whole.turns[2] and live.conversation == whole
    live.jump(0)
    assert live.turn is None
    for nowhere in (-1, 6):
        with pytest.raises(SessionError, match=f"there is no turn {nowhere}; this line has 5"):
            live.jump(nowhere)


def test_a_branch_leaves_its_origin_alone(live: Session) -> None:
    play_on(live)
    trunk = live.conversation
    live.jump(2)
    live.fork()
    live.let_play(dataclasses.replace(live.settings, assistant="draft"))
    live.next()
    assert live.label(live.current) == "branch 2, from turn 2" and live.branches[0].conversation == trunk
    assert live.conversation.turns[:2] == trunk.turns[:2]
    assert live.conversation.turns[2].reply.assistant == "draft"
    live.jump(3, 0)
    assert (live.conversation, live.cursor) == (trunk, 3)
    with pytest.raises(SessionError, match="there is no branch 8"):
        live.jump(0, 7)


def test_a_typed_reply_is_judged_answered_and_before_the_end_opens_a_branch(live: Session) -> None:
    wanted = live.tree.text("1.1") if "1.1" in live.tree.intents else live.tree.text("1")
    turn = live.reply(f"> {wanted}. " + "It goes on for a while so that it counts as a piece of writing. " * 3)
    assert turn.reply.assistant == "you" and turn.candidate.reward is not None
    assert turn.user_message and live.cursor == 1 and replay(live.conversation) == live.conversation
    for text, why in (("  \n", "type a reply first"), ("x" * 300_000, "too long")):
        with pytest.raises(SessionError, match=why):
            live.reply(text)
    live.next()
    live.jump(1)
    live.reply("What would you want for the tone?")
    assert (len(live.branches), live.current, live.cursor) == (2, 1, 2)
    assert live.branches[0].conversation.turns[1].reply.assistant == "adaptive"


def test_a_recording_reveals_its_turns_and_takes_no_reply(tmp_path: Path) -> None:
    recorded = Session(RECORDED, folder=tmp_path)
    for refused in (recorded.fork, recorded.candidates, lambda: recorded.reply("Here is a tugboat")):
        with pytest.raises(SessionError, match=r"record.* choose the miniature"):
            refused()
    texts = []
    while recorded.why_no_next is None:
        texts.append(recorded.next().reply.text)
    assert texts == [turn.reply.text for turn in recorded.conversation.turns]
    with pytest.raises(SessionError, match="the recording ends after turn 5"):
        recorded.next()


@pytest.mark.parametrize("settings", [LIVE, RECORDED], ids=["live", "recorded"])
def test_a_session_comes_back_as_it_was(settings: Settings, tmp_path: Path) -> None:
    session = Session(settings, folder=tmp_path)
    session.next()
    session.next()
    session.jump(1)
    if settings is LIVE:
        session.fork()
    again = Session.load(session.id, tmp_path)
    assert (again.settings, again.current, again.cursor) == (settings, int(settings is LIVE), 1)
    assert again.branches == session.branches and again.next() == session.next()


def test_a_file_is_never_half_written(live: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    live.next()
    before = live.path.read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("workbench.session.whole_file", full)
    with pytest.raises(SessionError, match=r"not saved, a reload would lose this.*disk full"):
        live.next()
    assert live.path.read_text() == before
    assert [path.name for path in live.folder.iterdir()] == [live.path.name]


@pytest.mark.parametrize("name", ["../../etc/passwd", "UPPER", "a", "", "x" * 60, "a b c d e f"])
def test_a_name_that_is_no_id_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="invalid session id"):
        Session.load(name, tmp_path)


def test_missing_and_broken_files_say_so_in_one_line(live: Session) -> None:
    with pytest.raises(SessionError, match="there is no session 'nothere1'"):
        Session.load("nothere1", live.folder)
    good = json.loads(live.path.read_text())
    for broken in ("{", "[]", "{}", json.dumps(good | {"format": "other"}), json.dumps(good | {"cursor": 9})):
        live.path.write_text(broken)
        with pytest.raises(SessionError, match="start a new one") as caught:
            Session.load(live.id, live.folder)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"source": "oracle"}, "unknown source 'oracle'"),
        ({"rules": "mine"}, "unknown rules 'mine'"),
        ({"turns": 0}, "at least one turn"),
        ({"artifact": "no such"}, "has no artifact 'no such'"),
        ({"artifact": "creative_writing-eval-100"}, "has no artifact"),
        ({"domain": "poetry"}, "poetry"),
        ({"assistant": "nobody"}, "unknown assistant 'nobody'"),
        ({"source": "recorded", "artifact": "no such"}, "0 recorded artifacts are called"),
        ({"source": "recorded", "artifact": "lost_property_line_six"}, "recorded without a conversation"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(change: dict[str, str], why: str, tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match=why) as caught:
        Session(dataclasses.replace(LIVE, **change), folder=tmp_path)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
PLAIN = Settings(domain=DOMAIN, artifact="creative_writing-eval-000", seed=3)


def with_models(server: FakeServer, settings: Settings = PLAIN) -> Settings:
    changes = {"judge": MODEL, "voice": MODEL, "assistant": f"{MODEL}:adaptive", "api_base": server.api_base}
    return dataclasses.replace(settings, **changes)


@pytest.mark.slow
def test_models_that_answer_as_miniature_give_its_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
