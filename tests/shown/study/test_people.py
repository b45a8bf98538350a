"""Conversations of people as runs: scored afterwards, each wish credited to the reply that first showed it."""

from dataclasses import replace
from pathlib import Path

import pytest

from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Artifact, Reply
from discover_lib.core.state import Discovery
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.evaluation import results_of_run
from discover_lib.runs.options import RunOptions, RunOptionsError
from discover_lib.runs.store import RunStore
from workbench.panel import EvaluatedRun
from workbench.study.people import NOTE, PEOPLE, Chat, scored_afterwards, write_people

DOMAIN = "svg_drawing"
ENGINES = RoleEngines(EngineSpec())


def drawing(index: int = 0) -> str:
    return generate_artifact(DOMAIN, "eval", index).text


def reply(text: str) -> Reply:
    return Reply(text, 10, COUNTING)


@pytest.fixture
def text() -> str:
    return drawing()


def chat(text: str, messages: tuple[str, ...], replies: tuple[str, ...], name: str = "one") -> Chat:
    return Chat(name, "base", messages, tuple(map(reply, replies)), text, "SVG drawing", DOMAIN)


def leaves_and_words(text: str) -> list[str]:
    tree = engine(DOMAIN).builder.build(Artifact("x", "SVG drawing", text, domain=DOMAIN)).tree
    return [tree.text(leaf) for leaf in tree.leaves()]


def test_the_reply_that_shows_the_finished_piece_discovers_what_is_in_it(text: str) -> None:
    talk = scored_afterwards(chat(text, ("hm", "well", "yes"), ("What would you like?", text, text)), ENGINES)
    assert [message.content for message in talk.messages()][:3] == ["hm", "What would you like?", "well"]
    assert talk.tree.initially_discovered == () and talk.turns[0].candidate.reward is not None
    assert not talk.turns[0].after.discovered and talk.turns[1].after.discovered
    assert talk.turns[-1].user_message is None and talk.setting["note"] == NOTE
    root = talk.tree.roots[0].id
    assert set(talk.tree.ids_of[root]) <= set(talk.turns[1].after.discovered), (
        "one tree at a time, as for simulated users"
    )


def test_what_a_person_names_first_is_theirs_and_no_reply_is_credited(text: str) -> None:
    wish = leaves_and_words(text)[0]
    asked = scored_afterwards(chat(text, (wish,), (text,)), ENGINES)
    unasked = scored_afterwards(chat(text, ("hm",), (text,)), ENGINES)
    own = set(asked.tree.initially_discovered)
    assert own and all(asked.start[each] is Discovery.DISCOVERED for each in own)
    assert asked.turns[0].candidate.reward.discovered < unasked.turns[0].candidate.reward.discovered  # type: ignore[union-attr]


def test_what_a_reply_showed_first_stays_the_reply_s_though_the_person_says_it_later(text: str) -> None:
    wish = leaves_and_words(text)[0]
    talk = scored_afterwards(chat(text, ("hm", wish), (text, text)), ENGINES)
    assert talk.tree.initially_discovered == ()


def test_the_run_opens_wherever_a_simulated_one_does(tmp_path: Path, text: str) -> None:
    chats = [
        chat(text, ("hm", "go on"), ("What would you like?", text), "p-1"),
        replace(chat(drawing(index=1), ("hm",), (drawing(index=1),), "p-2"), assistant="tuned"),
        chat("", ("hm",), (text,), "p-3"),
    ]
    folder = tmp_path / "run"
    written = write_people(folder, chats, ENGINES, name="mine", judge="miniature")
    assert written.conversations == 2 and list(written.without_tree) == ["p-3"]
    with RunStore.read(folder) as store:
        assert [talk.setting["engine"] for talk in store.conversations()] == [PEOPLE, PEOPLE]
        assert not store.unassessed()
        with pytest.raises(RunOptionsError):
            RunOptions.from_configuration(store.configuration)
    run = EvaluatedRun.of_run(folder)
    assert not run.missing and [each.assistant for each in run.scores] == ["base", "tuned"]
    assert all(each.leaves is None and each.interactivity is not None for each in run.scores)
    assert results_of_run(folder)["conversations"] == {"planned": 2, "finished": 2, "failed": 0}
