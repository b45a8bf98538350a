"""The stage as it is played: what a press does to the session, and what the page is then shown."""

import json
from pathlib import Path

import pytest

from discover_lib.engines.miniature.assistants import POLICIES
from workbench.session import Session
from workbench.sources import Settings
from workbench.stage import StagePlayer

LIVE = Settings(domain="creative_writing", artifact="creative_writing-eval-000", seed=3)


@pytest.fixture
def player(tmp_path: Path) -> StagePlayer:
    return StagePlayer(Session(LIVE, folder=tmp_path))


def place(player: StagePlayer) -> tuple[int, int]:
    return player.widget.now["strip"], player.widget.now["turn"]


def test_replies_are_shown_the_best_first_and_any_of_them_is_taken(player: StagePlayer) -> None:
    player.do({"do": "consider"})
    cards = player.widget.now["considered"]
    values = [card["worth"]["value"] for card in cards]
    assert values == sorted(values, reverse=True) and len(cards) == len(POLICIES)
    assert [card["assistant"] for card in cards if card["sees"]] == ["oracle"]
    assert all(card["about"] for card in cards)
    draft = next(card for card in cards if card["assistant"] == "draft")
    player.do({"do": "take", "place": draft["place"]})
    assert player.widget.record["moments"][1]["assistant"] == "draft" and player.widget.now["considered"] == []
    player.do({"do": "take", "place": 99})
    assert "has moved on" in player.widget.now["trouble"]


@pytest.mark.slow
def test_another_user_never_wipes_a_conversation(player: StagePlayer) -> None:
    player.do({"do": "next"})
    first, heard = player.session, []
    player.on_session = heard.append
    wanted = {"source": "miniature", "domain": "travel_plan", "artifact": "travel_plan-eval-001", "seed": 4}
    player.do({"do": "open"} | wanted)
    assert player.session.id != first.id and heard == [player.session]
    assert player.widget.setup["chosen"].items() >= wanted.items() and player.widget.setup["before"] == "generated 1"
    assert place(player) == (0, 0)
    player.do({"do": "undo"})
    assert player.session is first and place(player) == (0, 1)
    player.do({"do": "rules", "name": "authors"})
    assert player.widget.record["rules"]["name"] == "authors" and place(player) == (0, 0)
    player.do({"do": "undo"})
    player.do({"do": "reset"})
    assert player.session.settings == first.settings and place(player) == (0, 0)
    assert Session.load(first.id, first.folder).cursor == 1


@pytest.mark.slow
def test_the_stage_hands_out_a_file_and_opens_it(player: StagePlayer) -> None:
    player.do({"do": "next"})
    player.do({"do": "share", "number": 3})
    shown = player.widget.record
    player.do({"do": "reset"})
    player.do({"do": "load", "text": player.widget.shared["file"]})
    assert player.widget.record == shown and player.widget.now["turn"] == 1
    player.do({"do": "load", "text": "{}"})
    assert "not a saved session" in player.widget.now["trouble"]


def test_a_file_from_elsewhere_names_no_server_and_no_key(tmp_path: Path) -> None:
    session = Session(LIVE, folder=tmp_path)
    data = json.loads(session.text)
    theirs = {"judge": "openai/x", "voice": "openai/x", "assistant": "openai/x", "api_base": "http://192.0.2.1/v1"}
    data["settings"] |= theirs | {"key_variable": "OPENAI_API_KEY"}
    opened = Session.from_text(json.dumps(data), tmp_path)
    assert opened.id != session.id and opened.settings == LIVE and not opened.settings.models
    assert opened.conversation == session.conversation and opened.path.is_file()
