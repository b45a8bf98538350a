"""The recorded conversations: what is stored follows from the stored judgements."""

from pathlib import Path

import pytest

from discover_lib import initial_state, replay
from discover_lib.runs.artifact_files import Recorded, RecordedError, find_recorded, load_recorded, recorded_index

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


@pytest.mark.slow
@pytest.mark.parametrize("entry", WITH_SESSIONS, ids=names(WITH_SESSIONS))
def test_states_rewards_and_views_follow_from_the_stored_verdicts(entry: Recorded) -> None:
    for conversation in load_recorded(entry.name):
        assert replay(conversation) == conversation and len(conversation.turns) == 5
        assert conversation.tree == entry.tree() and conversation.setting["domain"] == entry.domain


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
