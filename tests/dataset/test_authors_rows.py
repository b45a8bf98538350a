"""Dataset rows of the authors' code, read into examples of ours, and ours as theirs."""

import json
from pathlib import Path

import pytest
from training import make_talks

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.authors_format import examples_of, read_rows, rows_of_conversation
from discover_lib.dataset.export import sieve
from discover_lib.dataset.rows import Origin, RowOptions, examples

ORIGIN = Origin("theirs")


def row(turn: int, assistant: int, completion: str, score: float | None, **more: object) -> dict:
    said = [{"role": "user", "content": "a poem"}]
    said += [{"role": role, "content": f"{role} {n}"} for n in range(1, turn) for role in ("assistant", "user")]
    made = {"artifact_id": "news1", "conv_id": 1, "turn_id": str(turn), "assistant_index": assistant, "prompt": said}
    return made | {"completion": completion, "score": score, "criteria_history": [{"hierarchy": []}] * turn} | more


THEIRS = [
    row(1, 0, "A draft.", 1.5),
    row(1, 1, "A question?", 0.25),
    row(10, 0, "late", 0.5, source_dir="b"),
    row(1, 0, "another conversation", 0.0, artifact_id="artifact_1"),
    row(2, 0, "same", 1.0),
    row(2, 1, "worth", 1.0),
    row(3, 0, "unjudged", None, criteria_history='[{"hierarchy": []}]'),
    row(3, 1, "judged", 2),
    row(9, 0, "early", 0.5),
    row(9, 1, "three", -0.5),
    row(9, 2, "of them", 0.75, unheard_of={"kept": [1, None]}),
]


def test_their_rows_become_pairs_by_score_and_what_is_none_is_counted() -> None:
    kept = sieve(examples_of(THEIRS, ORIGIN))
    assert kept.counts == {"one_candidate": 2, "failed_judgement": 1, "tie": 1}
    first, last = kept.kept
    assert first.train["chosen"][0]["content"] == "A draft." and first.margin == 1.25
    assert (last.train["chosen"][0]["content"], last.train["rejected"][0]["content"]) == ("of them", "three")
    assert last.provenance["turn"] == 9


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_both_of_their_files_are_read(tmp_path: Path, name: str) -> None:
    text = json.dumps(THEIRS) if name.endswith("json") else "\n".join(json.dumps(each) for each in THEIRS) + "\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_rows(tmp_path / name) == THEIRS


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"turn_id": 3}, "turn_id"),
        ({"turn_id": "last"}, "turn_id"),
        ({"prompt": "hello"}, "prompt"),
        ({"prompt": [{"role": "user"}]}, r"prompt\[0\]"),
        ({"score": "good"}, "score"),
        ({"completion": None}, "completion"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, change: dict, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(THEIRS[0]) + "\n" + json.dumps(THEIRS[1] | change))
    with pytest.raises(DiscoverError, match=f"line 2: .*{says}"):
        read_rows(path)
    path.write_text("{")
    with pytest.raises(DiscoverError, match="line 1 is not JSON"):
        read_rows(path)
    with pytest.raises(DiscoverError, match="cannot be read"):
        read_rows(tmp_path / "none.jsonl")


@pytest.mark.slow
def test_our_conversations_as_their_rows_give_our_pairs_again() -> None:
    talks = make_talks("creative_writing", 4, 4)
    theirs = json.loads(json.dumps([row for talk in talks for row in rows_of_conversation(talk)]))
    again = list(examples_of(theirs, ORIGIN))
    ours = list(examples("preference", talks, ORIGIN, RowOptions()))
    assert [each.problem for each in again] == [each.problem for each in ours]
    assert [each.train for each in again] == [each.train for each in ours]
