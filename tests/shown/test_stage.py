"""The stage as it is played: what a press does to the session, and what the page is then shown."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from workbench import simulator_page
from workbench.session import Session
from workbench.sources import Settings
from workbench.stage import StagePlayer

LIVE = Settings(domain="creative_writing", artifact="creative_writing-eval-000", seed=3)
RECORDED = Settings(source="recorded", domain="svg_drawing", artifact="night_harbour")


@pytest.fixture
def player(tmp_path: Path) -> StagePlayer:
    return StagePlayer(Session(LIVE, folder=tmp_path))


def place(player: StagePlayer) -> tuple[int, int]:
    return player.widget.now["strip"], player.widget.now["turn"]


@pytest.mark.slow
def test_next_back_branch_and_a_jump_to_another_line(player: StagePlayer) -> None:
    for _ in range(3):
        player.do({"do": "next"})
    assert place(player) == (0, 3) and len(player.widget.record["strips"][0]["moments"]) == 4
    player.do({"do": "jump", "strip": 0, "turn": 1, "jumps": 1})
    assert place(player) == (0, 1) and player.widget.now["jumps"] == 1
    player.do({"do": "branch"})
    player.do({"do": "assistant", "name": "ask"})
    player.do({"do": "next"})
    strips = player.widget.record["strips"]
    assert place(player) == (1, 2) and strips[1]["origin"] == [0, 1]
    assert strips[1]["moments"][:2] == strips[0]["moments"][:2], "what both share is told once"
    player.do({"do": "jump", "strip": 0, "turn": 3, "jumps": 2})
    assert place(player) == (0, 3)


def test_a_reply_of_ones_own_empties_the_box_and_an_empty_one_is_refused_in_a_line(player: StagePlayer) -> None:
    player.do({"do": "reply", "text": " "})
    assert player.widget.now["trouble"] == "Type a reply first." and player.widget.now["sent"] == 0
    player.do({"do": "reply", "text": "Shall it be set in a museum?"})
    assert place(player) == (0, 1) and player.widget.now["sent"] == 1 and player.widget.now["trouble"] == ""
    assert player.widget.record["moments"][1]["assistant"] == "you"


def test_replies_are_shown_the_best_first_and_any_of_them_is_taken(player: StagePlayer) -> None:
    player.do({"do": "consider"})
    cards = player.widget.now["considered"]
    values = [card["worth"]["value"] for card in cards]
    assert values == sorted(values, reverse=True) and len(cards) == 9
    assert [card["assistant"] for card in cards if card["sees"]] == ["oracle"]
    assert all(card["about"] for card in cards)
    draft = next(card for card in cards if card["assistant"] == "draft")
    player.do({"do": "take", "place": draft["place"]})
    assert player.widget.record["moments"][1]["assistant"] == "draft" and player.widget.now["considered"] == []
    player.do({"do": "take", "place": 99})
    assert "has moved on" in player.widget.now["trouble"]


@pytest.mark.slow
def test_other_rules_keep_every_reply_and_the_first_rules_bring_everything_back(player: StagePlayer) -> None:
    for _ in range(3):
        player.do({"do": "next"})
    player.do({"do": "jump", "strip": 0, "turn": 2, "jumps": 1})
    before = json.dumps(player.widget.record)
    player.do({"do": "rules", "name": "authors"})
    under = player.widget.record
    assert under["rules"]["name"] == "authors" and place(player) == (0, 2)
    names = ("first", "written", "answer", "tokens", "assistant")
    said = [[each[name] for name in names] for each in under["moments"][1:]]
    assert said == [[each[name] for name in names] for each in json.loads(before)["moments"][1:]]
    assert json.dumps(under) != before
    player.do({"do": "rules", "name": "paper"})
    assert json.dumps(player.widget.record) == before


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
    player.do({"do": "reset"})
    assert player.session.settings == first.settings and place(player) == (0, 0)
    assert Session.load(first.id, first.folder).cursor == 1


@pytest.mark.slow
def test_a_recording_goes_on_as_it_was_recorded_and_takes_no_reply(tmp_path: Path) -> None:
    player = StagePlayer(Session(RECORDED, folder=tmp_path))
    assert len(player.widget.record["strips"][0]["moments"]) == 6, "the whole strip is there to scrub"
    assert "cannot read them" in player.widget.now["mute"]
    player.do({"do": "next"})
    assert place(player) == (0, 1)
    player.do({"do": "rules", "name": "authors"})
    assert player.widget.record["rules"]["name"] == "authors" and place(player) == (0, 1)


@pytest.mark.slow
def test_it_plays_until_it_is_told_to_stop(player: StagePlayer) -> None:
    async def play() -> int:
        player._player.seconds = 0.01
        player.do({"do": "play"})
        assert player.widget.now["playing"]
        while player.session.cursor < 2:
            await asyncio.sleep(0.01)
        player.do({"do": "stop"})
        stood = player.session.cursor
        await asyncio.sleep(0.1)
        return stood

    assert asyncio.run(play()) == player.session.cursor and not player.widget.now["playing"]


@pytest.mark.parametrize("data", ["", "nothing here"])
def test_the_opening_is_worth_seeing_with_the_checkout_s_data_or_without(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCOVER_DATA", data and str(tmp_path / data))  # as where only the package is installed
    session = simulator_page.opening(tmp_path)
    main, branch = (each.conversation for each in session.branches)
    assert session.current == 0 and session.cursor == len(main.turns) == simulator_page.OPENING_TURNS
    rewards = [turn.candidate.reward.total for turn in main.turns if turn.candidate.reward]
    assert len(rewards) == len(main.turns) and sum(rewards) >= 3 and len(main.state.discovered) >= 5
    assert len(main.state.discovered) > len(branch.state.discovered), "the contrast is there to see"
    assert session.settings.assistant == simulator_page.OPENING.assistant
    offered = StagePlayer(session).widget.setup["users"]
    assert [source["value"] for source in offered] == ["miniature"] + ([] if data else ["recorded"])


@pytest.mark.slow
def test_a_step_costs_one_turn_however_long_the_conversation(tmp_path: Path) -> None:
    player = StagePlayer(Session(Settings(artifact="svg_drawing-eval-003", turns=40), folder=tmp_path))
    seconds = []
    for _ in range(20):
        begun = time.perf_counter()
        player.do({"do": "next"})
        seconds.append(time.perf_counter() - begun)
    assert sum(seconds[-5:]) < 5 * sum(seconds[:5]) + 1
