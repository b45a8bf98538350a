"""What the page Conversation opens, offers, and says of other rules."""

import dataclasses
from pathlib import Path

import pytest

from discover_lib import Rules, replay
from discover_lib.runs.options import RunOptions, execute, lay_out
from workbench.jupyter import with_controls
from workbench.pages import conversation_page
from workbench.session import Session
from workbench.sources import SessionError, Settings, miniature_artifacts
from workbench.stage import stage
from workbench.views.conversation_parts import compared


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return Session(Settings(artifact=next(iter(miniature_artifacts("svg_drawing").values()))))


@pytest.mark.slow
def test_the_first_conversation_is_at_turn_one_of_five_and_each_press_earns(session: Session) -> None:
    opened, trouble = conversation_page.opened({})
    assert opened is not None and not trouble and (opened.cursor, opened.scored_turns) == (1, 5)
    for _ in range(4):
        opened.next()
    assert all(turn.candidate.reward and turn.candidate.reward.total > 0 for turn in opened.conversation.turns)
    assert opened.conversation.turns[-1].user_message, "the last reply is answered, too"
    sixth = opened.next()
    assert sixth.index == 6 and opened.why_no_next is None
    record = stage(opened).widget.record
    assert record["strips"][0]["scored"] == 5


def test_an_unknown_session_begins_anew(session: Session) -> None:
    fresh, trouble = conversation_page.opened({"session": "abcdef123456"})
    assert fresh is not None and fresh.id != "abcdef123456" and trouble
    again, trouble = conversation_page.opened({"session": session.id})
    assert again is not None and (again.id, trouble) == (session.id, "")


def test_only_a_step_that_asks_a_model_is_waited_for(session: Session) -> None:
    assert not conversation_page.asks_a_model(session, session.next)
    session.settings = dataclasses.replace(session.settings, voice="openai/some")
    assert conversation_page.asks_a_model(session, session.next)
    assert not conversation_page.asks_a_model(session, session.jump)


def test_a_conversation_of_a_run_opens_on_the_stage(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    execute(lay_out(RunOptions(("draft", "ask"), domain="creative_writing", artifacts=1)), folder)
    rows = conversation_page.run_rows(folder)
    assert [row["assistant"] for row in rows] == ["draft", "ask"]
    opened, trouble = conversation_page.opened({"run": "mine", "conversation": "1"})
    assert opened is not None and not trouble and opened.settings.source == "run"
    assert opened.conversation.setting["assistants"] == ["ask"] and opened.scored_turns == 5
    assert stage(opened).widget.setup["chosen"]["source"] == "run"
    opened.jump(5)
    with pytest.raises(SessionError, match="recording ends"):
        opened.next()
    with pytest.raises(SessionError, match="was recorded"):
        opened.reply("a fox")
    assert Session.load(opened.id).conversation == opened.conversation
    missing, trouble = conversation_page.opened({"run": "mine", "conversation": "9"})
    assert missing is not None and "no conversation 9" in trouble


def test_other_rules_strike_only_a_number_that_changes(tmp_path: Path) -> None:
    session = conversation_page.opening(tmp_path)
    while session.cursor < 5:
        session.next()
    original = session.conversation
    free = replay(original, original.rules.replace(tau=0.0))
    table = str(compared(original.turns[0], free.turns[0], original.tree))
    discovered = table.split("Discovery reward")[1].split("</tr>")[0]
    assert "<del" not in discovered and "<del" in table.split("Length penalty")[1]
    authors = replay(original, Rules.authors().replace(token_unit=original.rules.token_unit))
    pairs = zip(original.turns, authors.turns, strict=True)
    assert "<del" in "".join(str(compared(was, now, original.tree)) for was, now in pairs)


@pytest.mark.slow
def test_the_controls_of_jupyter_move_the_stage_and_follow_it(tmp_path: Path) -> None:
    player = stage(conversation_page.opening(tmp_path))
    domain, user, assistant, rules, turn = with_controls(player).children[0].children
    assert (domain.value, assistant.value, turn.value) == ("svg_drawing", "adaptive", 1)
    turn.value = 3
    assert player.session.cursor == 3
    player.do({"do": "jump", "strip": 0, "turn": 1, "jumps": 1})
    assert turn.value == 1
    rules.value, assistant.value = "authors", "draft"
    assert (player.session.settings.rules, player.session.settings.assistant) == ("authors", "draft")
    domain.value = "travel_plan"
    assert player.session.settings.domain == "travel_plan" and user.value == player.session.settings.artifact
    assert turn.value == 0
