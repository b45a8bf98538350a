"""Row sets as files: read back as they were, whole or not at all, with a full card; and a run for the Hub."""

import json
from pathlib import Path

import pytest
from training import make_talks

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.export import Filters, RowSet, Source, make_rows, read_rows, write_hub_folder, write_rows
from discover_lib.dataset.rows import Origin, RowOptions
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import stored_scores

KINDS = ("sft", "preference", "prompt")


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [Source(Origin("a run", "miniature", "miniature", {}, "1"), make_talks("creative_writing", 6, 4))]


@pytest.fixture(scope="module")
def row_sets(sources: list[Source]) -> dict[str, RowSet]:
    return {kind: make_rows(kind, sources, RowOptions(system="collaborative")) for kind in KINDS}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_read_back_as_they_were(row_sets: dict[str, RowSet], kind: str, tmp_path: Path) -> None:
    rows = row_sets[kind]
    write_rows(rows, tmp_path / "rows")
    assert read_rows(tmp_path / "rows") == {split: [row.row for row in kept] for split, kept in rows.splits.items()}


@pytest.mark.slow
def test_the_card_accounts_for_every_example(sources: list[Source], tmp_path: Path) -> None:
    rows = make_rows("preference", sources, filters=Filters(min_margin=0.5))
    write_rows(rows, tmp_path / "rows")
    about = json.loads((tmp_path / "rows" / "dataset.json").read_text("utf-8"))
    assert about["considered"] == about["kept"] + sum(about["dropped"].values())
    dropped = (tmp_path / "rows" / "dropped.jsonl").read_text("utf-8").splitlines()
    assert len(dropped) == sum(about["dropped"].values()) > 0
    assert all(json.loads(line)["reasons"] and json.loads(line)["artifact"] for line in dropped)
    assert rows.length in (tmp_path / "rows" / "README.md").read_text("utf-8")


def test_a_folder_is_whole_or_not(row_sets: dict[str, RowSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "rows"
    write_rows(row_sets["sft"], folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="disk is full"):
        patched.setattr("discover_lib.dataset.export.write_json", full)
        write_rows(row_sets["preference"], folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
    write_rows(row_sets["preference"], folder)
    assert "chosen" in read_rows(folder)["train"][0]


def test_a_folder_of_somebody_elses_is_left_alone(row_sets: dict[str, RowSet], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DiscoverError, match="other files"):
        write_rows(row_sets["sft"], tmp_path)
    with pytest.raises(DiscoverError, match="is a file or holds other files"):
        write_rows(row_sets["sft"], tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_is_no_row_set_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match="no training rows here"):
        read_rows(tmp_path)
    for damaged in ("{", "{}", '{"files": "jsonl", "splits": {}, "format": "other"}'):
        (tmp_path / "dataset.json").write_text(damaged)
        with pytest.raises(DiscoverError) as told:
            read_rows(tmp_path)
        assert "\n" not in str(told.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in `run/`, and the same as a data set in `hub/`."""
    top = tmp_path_factory.mktemp("hub")
    (top / "run").mkdir()
    execute(lay_out(RunOptions(("adaptive", "ask"), domain="svg_drawing", artifacts=3)), top / "run")
    with RunStore.read(top / "run") as store:
        assert write_hub_folder(top / "hub", store) == 6
    return top


@pytest.mark.slow
def test_datasets_reads_what_the_run_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows = datasets.load_dataset(str(folder / "hub"), split="train", cache_dir=str(folder / "cache"))
    with RunStore.read(folder / "run") as store:
        talks, scores = list(store.conversations()), list(stored_scores(store))
    assert rows["messages"] == [[{"role": m.role, "content": m.content} for m in talk.messages()] for talk in talks]
    assert rows["rewards"] == [list(own.rewards) for own in scores]
    assert rows["share"] == [own.share_discovered for own in scores]
    assert [int(seed) for seed in rows["seed"]] == [talk.seed for talk in talks]
