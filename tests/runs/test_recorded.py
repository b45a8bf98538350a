"""The recorded conversations: what is stored follows from the stored judgements."""

import json
from pathlib import Path

import pytest

from discover_lib import Rules, initial_state, replay
from discover_lib.runs.artifact_files import (
    COUNTING,
    Recorded,
    RecordedError,
    find_recorded,
    load_recorded,
    recorded_index,
)

INDEX = recorded_index()
WITH_SESSIONS = [entry for entry in INDEX if entry.sessions]


def names(entries: list[Recorded]) -> list[str]:
    return [entry.name for entry in entries]


@pytest.mark.parametrize("entry", INDEX, ids=names(INDEX))
def test_every_tree_opens(entry: Recorded) -> None:
    tree = entry.tree()
    assert len(tree) >= 18
    assert initial_state(tree).discovered == set(tree.initially_discovered) != set()
    assert entry.artifact().text


@pytest.mark.parametrize("entry", WITH_SESSIONS, ids=names(WITH_SESSIONS))
class TestSession:
    @pytest.mark.slow
    def test_a_record_replays_to_itself_with_the_rewards_and_views_stored(self, entry: Recorded) -> None:
        sessions = json.loads(entry.path.read_text())["sessions"]
        for conversation, session in zip(load_recorded(entry.name), sessions, strict=True):
            assert replay(conversation) == conversation
            assert len(conversation.turns) == len(session["turns"]) == 5
            for turn, stored in zip(conversation.turns, session["turns"], strict=True):
                for candidate, kept in zip(turn.candidates, stored["candidates"], strict=True):
                    assert candidate.reward is not None
                    assert candidate.reward.discovered == kept["reward"]["discovered"]
                    assert candidate.reward.penalty == pytest.approx(kept["reward"]["penalty"])
                    assert candidate.reward.total == pytest.approx(kept["reward"]["total"])
                    assert (candidate.reply.n_tokens, candidate.reply.counting) == (kept["tokens"], COUNTING)
                assert turn.chosen == stored["chosen"]
                assert turn.user_message == stored["user_message"]
                assert sorted(turn.view.achieved) == sorted(stored["view"]["achieved"])
                assert turn.view.pursuing == stored["view"]["pursuing"]
                assert sorted(turn.view.items) == sorted(stored["view"]["items"])


def test_other_rules_can_be_asked_of_a_record() -> None:
    [conversation] = load_recorded("night_harbour")
    strict = replay(conversation, Rules.paper().replace(p=0))
    assert not any(move.cause == "tangential" for turn in strict.turns for move in turn.candidate.transitions)
    assert strict.state != conversation.state


def test_unknown_names_and_broken_files_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(RecordedError, match=r"0 recorded artifacts are called 'no such'.*night_harbour"):
        find_recorded("no such")
    with pytest.raises(RecordedError, match="cannot be read"):
        load_recorded(tmp_path / "missing.json")
    broken = tmp_path / "broken.json"
    for text, message in (("{", "not JSON"), ("{}", "missing 'artifact'"), ("[]", "not a recorded artifact")):
        broken.write_text(text)
        with pytest.raises(RecordedError, match=message):
            load_recorded(broken)
