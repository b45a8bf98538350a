"""`discover safety`, `discover reality`: a run under house rules, the paper's table, users who type as people."""

import json
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover

from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Reply
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.store import RunStore
from workbench.study.people import Chat, write_people


@pytest.mark.slow
def test_a_run_is_read_under_house_rules(tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ["--domain", "svg_drawing", "--artifacts", 6, "--turns", 4, "--assistant", "ask", "--assistant", "adaptive"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    said = discover("safety", run).stdout
    assert "over-refusal" in said and "(0 of" in said and "harmless words" in said and "which err" in said
    assert discover("safety", run, "--depth", 1).returncode == 0
    assert_one_line_error(discover("safety", run, "--depth", 6), "try --depth 2")


def test_without_a_run_it_is_the_paper_s_table() -> None:
    said = discover("safety").stdout
    assert "89.1" in said and "+1.5" in said and "assumed" in said


def test_people_s_conversations_are_refused_since_their_trees_are_made_of_what_was_offered(tmp_path: Path) -> None:
    piece = generate_artifact("svg_drawing", "eval", 0).text
    talk = Chat("one", "base", ("an owl",), (Reply(piece, 10, COUNTING),), piece, "SVG drawing", "svg_drawing")
    write_people(tmp_path / "run", [talk], RoleEngines(EngineSpec()), name="a study", judge="miniature")
    assert_one_line_error(discover("safety", tmp_path / "run", "--depth", 2), "conversations with people")


@pytest.mark.slow
def test_a_run_is_typed_in_a_manner_and_laid_beside_chats(tmp_path: Path) -> None:
    chats, run = tmp_path / "chats.jsonl", tmp_path / "run"
    lines = [[{"role": "user", "content": f"{word} one"}] for word in ("this", "that", "no", "yes", "well")]
    chats.write_text("".join(json.dumps({"messages": line}) + "\n" for line in lines), encoding="utf-8")
    asked = ["--domain", "svg_drawing", "--artifacts", 4, "--turns", 3, "--assistant", "draft", "--manner", "terse"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    assert discover("simulate", "--run", run, *asked).returncode == 0, "it is the same run"
    with RunStore.read(run) as store:
        assert store.configuration["manner"]["name"] == "terse"
        said = [turn.user_message for talk in store.conversations() for turn in talk.turns if turn.user_message]
    assert sum(len(message.split()) for message in said) / len(said) < 8
    assert "mean words of a message" in discover("reality", chats, run).stdout
    asked[-1] = "people"
    assert_one_line_error(discover("simulate", "--run", run, *asked), "manner")
    asked[-1] = tmp_path / "curt.json"
    assert_one_line_error(discover("simulate", "--run", run, *asked), "give paper, terse, rambling, people")


def test_a_failed_import_or_export_leaves_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text("{}")
    assert_one_line_error(discover("import", theirs, "--run", tmp_path / "run"), "theirs.json")
    assert not (tmp_path / "run").exists()
    (tmp_path / "kept").mkdir()
    assert_one_line_error(discover("import", theirs, "--run", tmp_path / "kept"), "theirs.json")
    assert (tmp_path / "kept").exists()  # which was there before


def test_an_inspect_log_without_its_format_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "x.eval").write_bytes(b"PK")
    result = discover("import", tmp_path / "x.eval", "--run", tmp_path / "run")
    assert_one_line_error(result, "looks like an Inspect log; use --format inspect")
