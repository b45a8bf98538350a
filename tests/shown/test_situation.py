"""A link is a situation: what is played again from it is what was played."""

import json
from pathlib import Path

import pytest

from workbench import simulator_page
from workbench.session import Session
from workbench.situation import link_of, opened_link
from workbench.sources import SessionError, Settings, assistant_names
from workbench.stage import StagePlayer

USER = Settings(domain="creative_writing", artifact="creative_writing-eval-003", seed=6)
LINKED = "domain=svg_drawing&artifact=goldfish-sticker"


def played(session: Session) -> str:
    """Everything that a session shows: all lines, the place looked at, the rules."""
    return json.dumps({**json.loads(session.text), "id": ""})


@pytest.mark.slow
def test_the_opening_is_one_readable_line(tmp_path: Path) -> None:
    session = simulator_page.opening(tmp_path)
    link = link_of(session)
    assert link == f"{LINKED}&seed=4&assistant=adaptive&rules=paper&at=0.4&line=adaptive*4&line=0.2:ask*2"
    assert played(opened_link(f"#{link}", tmp_path)) == played(session)


@pytest.mark.slow
def test_typed_replies_branches_taken_replies_and_other_rules_come_back(tmp_path: Path) -> None:
    session = Session(USER, folder=tmp_path)
    session.next()
    session.reply('An owl & a <b>fox</b>, or 3*4 = 12 + "ü"?\nOr [nothing] #1')
    session.candidates(simulator_page.compared(session))
    session.take(session.considered[2])
    session.jump(1)
    session.reply("Who tells it?")
    session.switch(0)
    session.jump(2)
    session.rescore("authors")
    again = opened_link(link_of(session), tmp_path)
    assert played(again) == played(session)
    assert again.branches[0].conversation.turns[2].candidates == session.branches[0].conversation.turns[2].candidates


@pytest.mark.slow
@pytest.mark.parametrize("name", assistant_names())
def test_every_assistant_says_the_same_again(name: str, tmp_path: Path) -> None:
    session = Session(Settings(domain="svg_drawing", artifact="svg_drawing-eval-005", assistant=name), folder=tmp_path)
    while session.why_no_next is None:
        session.next()
    assert f"line={name}*{len(session.conversation.turns)}" in link_of(session)


@pytest.mark.slow
def test_a_recording_opens_at_its_turn(tmp_path: Path) -> None:
    recorded = Session(Settings(source="recorded", domain="svg_drawing", artifact="night_harbour"), folder=tmp_path)
    recorded.jump(3)
    recorded.fork()
    assert played(opened_link(link_of(recorded), tmp_path)) == played(recorded)


def test_what_cannot_be_played_again_gets_no_link(tmp_path: Path) -> None:
    session = Session(USER, folder=tmp_path)
    session.next()
    session.settings = Settings(**{**vars(USER), "judge": "openai/some-model"})
    with pytest.raises(SessionError, match="a language model took part"):
        link_of(session)
    session.settings = Settings(**{**vars(USER), "seed": 7})  # as if the seed had made other thresholds once
    with pytest.raises(SessionError, match="save the session to a file"):
        link_of(session)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("nonsense", "no artifact ''"),
        ("domain=../../etc&artifact=passwd", "unknown domain"),
        ("source=trees&artifact=../../etc/passwd", "no tree"),
        ("source=recorded&domain=..&artifact=..", "recorded"),
        (f"{LINKED}&assistant=openai/gpt", "unknown assistant"),
        (f"{LINKED}&seed=four", "a number in it cannot be read"),
        (f"{LINKED}&at=7", "a number in it cannot be read"),
        (f"{LINKED}&at=3.0", "there is no branch 4"),
        (f"{LINKED}&line=adaptive*9", "the conversation is over"),
        (f"{LINKED}&turns=9999&line=silent*150&line=0.1:silent*51", "more than 200 replies"),
        (f"{LINKED}&line=__import__", "nobody who replies"),
        (f"{LINKED}&line=<script>", "cannot be read"),
        (f"{LINKED}&line=you", "type a reply first"),
        (f"{LINKED}" + "&line=0.0:" * 50, "more than 40 lines"),
        (f"{LINKED}" + "&line=0.0:" * 1000, "more than 1,000 parts"),
    ],
)
def test_a_link_that_is_none_is_refused_in_a_line(link: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=said) as refused:
        opened_link(link, tmp_path)
    assert "\n" not in str(refused.value)


def test_a_link_reads_no_file_elsewhere_and_leaves_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.yaml").write_text("password: harbour")
    inner = f"{'../' * 20}{tmp_path}/private/notes"
    for domain in (inner, f"{tmp_path}/private/notes", "svg_drawing%00"):
        with pytest.raises(SessionError, match="unknown domain"):
            opened_link(f"domain={domain}&artifact=x&line=adaptive", tmp_path)
    assert [path.name for path in (tmp_path / "private").rglob("*")] == ["notes.yaml"]


@pytest.mark.slow
def test_the_stage_hands_out_a_link_and_a_file_and_opens_both(tmp_path: Path) -> None:
    player = StagePlayer(Session(USER, folder=tmp_path))
    player.do({"do": "next"})
    player.do({"do": "share", "number": 3, "file": True})
    shared = player.widget.shared
    assert shared["number"] == 3 and "line=adaptive" in shared["link"] and shared["why"] == ""
    shown = player.widget.record
    player.do({"do": "reset"})
    for message in ({"do": "link", "text": shared["link"]}, {"do": "load", "text": shared["file"]}):
        player.do(message)
        assert player.widget.record == shown and player.widget.now["turn"] == 1
        player.do({"do": "undo"})
        assert player.widget.now["turn"] == 0, "the conversation before is kept"
    player.do({"do": "load", "text": "{}"})
    assert "not a saved session" in player.widget.now["trouble"]


def test_a_file_from_elsewhere_names_no_server_and_no_key(tmp_path: Path) -> None:
    session = Session(USER, folder=tmp_path)
    session.next()
    data = json.loads(session.text)
    theirs = {"judge": "openai/x", "voice": "openai/x", "assistant": "openai/x", "api_base": "http://192.0.2.1/v1"}
    data["settings"] |= theirs | {"key_variable": "OPENAI_API_KEY"}
    opened = Session.from_text(json.dumps(data), tmp_path)
    assert opened.id != session.id and opened.settings == USER and not opened.settings.models
    assert opened.conversation == session.conversation and opened.path.is_file()
