"""A run as a folder for the Hub, read by `datasets` itself."""

from pathlib import Path

import pytest

from discover_lib.dataset.export import write_hub_folder
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import stored_scores


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
