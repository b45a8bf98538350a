"""Ids of conversations and turns: how they are written, and what they show."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.base.errors import DiscoverError
from discover_lib.base.ids import DiscoverId
from discover_lib.dataset.export import write_hub_folder
from discover_lib.metrics.transcript import COLUMNS
from discover_lib.runs.evaluation import lay_out_evaluation, resolve, write_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.store import RunStore, id_of_run
from workbench.main import app

pytestmark = pytest.mark.slow

DOMAINS = ("svg_drawing", "creative_writing")
OPTIONS = RunOptions(("draft", "ask", "adaptive"), artifacts=4, trials=2, turns=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    outputs = tmp_path_factory.mktemp("outputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(outputs))
        made = outputs / "group" / "first run"
        made.mkdir(parents=True)
        execute(lay_out_evaluation(OPTIONS, DOMAINS), made)
        write_evaluation(made)
        yield made


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
NUMBERS = st.integers(0, 10**9)


@given(
    path=st.tuples(TEXT, st.none() | TEXT, st.none() | TEXT, st.none() | NUMBERS, st.none() | NUMBERS, st.none() | TEXT)
)
def test_an_id_is_read_as_it_was_written(path: tuple) -> None:
    made = DiscoverId(*path)
    assert DiscoverId.parse(str(made)) == made
    assert not re.search(r"\s", str(made))


def test_an_id_is_written_as_the_manual_says() -> None:
    assert str(DiscoverId("a/b", "x", "openai/m+n", 0, 2, "1.1")) == "discover://a%2Fb/x/openai%2Fm%2Bn/0/2/1.1"
    assert str(DiscoverId("run", assistants="ask")) == "discover://run/*/ask"


@pytest.mark.parametrize(
    "text", ["", "run", "http://run", "discover://", "discover://*", "discover://a//b", "discover://a/b/c/x",
             "discover://a/b/c/-1", "discover://a/b/c/1/2/3/4",
             "discover://run1/email/openai/me+more/0"]
)  # fmt: skip
def test_what_is_no_id_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(DiscoverError, match="invalid id"):
        DiscoverId.parse(text)


def test_what_is_not_stored_is_refused_in_one_line(folder: Path) -> None:
    run = id_of_run(folder)
    for wrong, told in (
        (DiscoverId("nowhere"), "no run nowhere in .*; give its name there, or its folder's path$"),
        (DiscoverId(run.run, "nothing"), "this run has no such finished conversation"),
        (DiscoverId(run.run, assistants="asks"), "'discover show RUN' lists them$"),
        (DiscoverId(run.run, "svg_drawing-eval-000", "ask", 0, 9), "has 3 turns"),
    ):
        with pytest.raises(DiscoverError, match=told):
            resolve(wrong)


def test_the_rows_of_the_hub_carry_ids(folder: Path, tmp_path: Path) -> None:
    with RunStore.read(folder) as store:
        write_hub_folder(tmp_path, store)
    lines = (tmp_path / "data" / "conversations.jsonl").read_text().splitlines()
    for row in map(json.loads, lines[:6]):
        stored = resolve(DiscoverId.parse(row["discover_id"]))
        assert stored.conversation is not None
        assert [each.content for each in stored.conversation.messages()] == [
            each["content"] for each in row["messages"]
        ]


def test_a_turn_is_shown_with_its_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = id_of_run(folder)
    talk = next(each for each in RunStore.read(folder).conversations() if each.setting["assistants"] == ["adaptive"])
    turn = next(turn for turn in talk.turns for each in turn.candidate.transitions if each.moved)
    at = DiscoverId(run.run, talk.setting["artifact"], "adaptive", talk.setting["trial"], turn.index)
    app(["show", str(at)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert turn.reply.text in shown and turn.user_message and turn.user_message in shown
    assert turn.candidate.reward and f"reward {turn.candidate.reward.total:+.3f}" in shown
    assert all(verdict.reason in shown for verdict in turn.candidate.evaluation.verdicts)  # type: ignore[union-attr]


def test_a_conversation_and_a_run_are_read_by_their_ids(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = id_of_run(folder)

    def shown(*words: str) -> str:
        app(["show", *words], standalone_mode=False)
        return capsys.readouterr().out

    told = shown(f"{run}/svg_drawing-eval-001/ask/1")
    assert told.startswith("user       ") and max(map(len, told.splitlines()[:-3])) <= COLUMNS
    whole = shown(str(folder))
    assert whole == shown(run.run) == shown(str(run)) and f"48 conversations in {folder}" in whole
    several = shown(f"{run}/svg_drawing-eval-001/*/1").splitlines()
    assert several[:3] == [f"{run}/svg_drawing-eval-001/{who}/1" for who in OPTIONS.assistants]
