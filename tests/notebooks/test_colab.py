"""The notebook for borrowed GPUs, top to bottom in a plain kernel without one: data, train, compare, pack."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from training import make_base, make_data

pytestmark = pytest.mark.slow

BOOK = Path(__file__).resolve().parents[2] / "notebooks" / "colab_train.ipynb"


def test_it_holds_nothing_that_was_run_and_no_shell_lines() -> None:
    book = nbformat.read(BOOK, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code and all(not cell.outputs and cell.execution_count is None for cell in code)
    assert not [line for cell in code for line in cell.source.splitlines() if line.startswith(("!", "%"))]


@pytest.mark.parametrize(
    ("project", "wanted"),
    [
        ("git+https://example.org/us/project", "discover-lib[train] @ git+https://example.org/us/project"),
        ("/content/lib-1-py3-none-any.whl", "discover-lib[train] @ file:///content/lib-1-py3-none-any.whl"),
    ],
)
def test_pip_is_given_a_git_address_or_a_wheel(project: str, wanted: str) -> None:
    from packaging.requirements import Requirement

    book = nbformat.read(BOOK, as_version=4)
    source = next(cell.source for cell in book.cells if "def requirement" in cell.source)
    names: dict[str, Any] = {}
    exec(source, names)  # the project is installed here, so the cell installs nothing
    assert names["requirement"](project, "train") == wanted and Requirement(wanted).url


def test_rows_of_one_s_own_take_the_place_of_the_miniature_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    rows = make_data(tmp_path / "mine")
    for name, value in {"OUTPUTS": tmp_path / "new", "DATA": rows, "STAGES": "sft dpo", "BASE": "tiny"}.items():
        monkeypatch.setenv(f"DISCOVER_{name}", str(value))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    book = nbformat.read(BOOK, as_version=4)
    last = next(place for place, cell in enumerate(book.cells) if "def price" in cell.source)
    book.cells = book.cells[: last + 1]
    NotebookClient(book, timeout=180, kernel_name="python3").execute()
    assert "sft: 3 rows, 102 updates, about 41 s on one processor core" in str(book.cells[-1].outputs)
    assert (tmp_path / "new" / "colab" / "rows" / "dpo" / "dataset.json").is_file()


def test_it_runs_to_the_end_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    changes = [f"{stage}.{each}" for stage in ("sft", "dpo") for each in ("batch=2", "per_device=2")]
    changes += ["grpo.batch=4", "grpo.per_device=4", "grpo.n_generations=2", "grpo.max_completion=8", "grpo.rounds=1"]
    changes += ["grpo.probe_users=1", "grpo.probe_turns=1"]
    changes += [f"{stage}.{each}" for stage in ("sft", "dpo", "grpo") for each in ("max_steps=2", "sample_steps=0")]
    settings = {
        "DISCOVER_OUTPUTS": str(tmp_path),
        "DISCOVER_BASE": str(make_base(tmp_path / "base")),
        "DISCOVER_ARTIFACTS": "6",
        "DISCOVER_DRIVE": str(tmp_path / "drive"),
        "DISCOVER_CHANGES": " ".join(changes),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    book = nbformat.read(BOOK, as_version=4)
    for cell in book.cells:  # a toy is trained sooner than it is looked at
        cell.source = re.sub(r"time\.sleep\(\d+\)", "time.sleep(0.1)", cell.source)
    NotebookClient(book, timeout=400, kernel_name="python3").execute()
    shown = "".join(
        str(output.get("text", "")) + "".join(map(str, output.get("data", {}).values()))
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "the default is the tiny model" in shown and "6 of 6 conversations finished" in shown
    for stage in ("sft", "dpo", "grpo"):  # said before each stage begins
        assert re.search(rf"{stage}: \d+ rows, 2 updates; the time on this machine is unknown", shown)
    assert 'data-job="finished"' in shown and "<polyline" in shown and "dl-chat" in shown
    (packed,) = (tmp_path / "colab").glob("*.zip")
    with zipfile.ZipFile(packed) as archive:
        assert {"adapter/adapter_config.json", "adapter/adapter_model.safetensors", "lineage.json"} <= set(
            archive.namelist()
        )
        result = json.loads(archive.read("result.json"))
    assert packed.name == "grpo-adapter.zip" and result["step"] == 2
    kept = {path.name for path in (tmp_path / "drive").rglob("*")}
    assert {"rows", "sft", "dpo", "grpo", "adapter", "result.json"} <= kept
    assert not any("sqlite" in name or name.endswith((".lock", ".partial")) for name in kept)


def test_a_new_machine_copies_back_what_was_kept_and_trains_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells before training, in a place where only the drive is left of an earlier machine."""
    from nbclient import NotebookClient

    for stage in ("rows", "sft"):
        (tmp_path / "drive" / stage).mkdir(parents=True)
    (tmp_path / "drive" / "sft" / "result.json").write_text("{}")
    for name, value in {"OUTPUTS": "new", "DRIVE": "drive"}.items():
        monkeypatch.setenv(f"DISCOVER_{name}", str(tmp_path / value))
    monkeypatch.setenv("DISCOVER_BASE", str(make_base(tmp_path / "base")))
    book = nbformat.read(BOOK, as_version=4)
    last = next(place for place, cell in enumerate(book.cells) if "copied back" in cell.source)
    book.cells = book.cells[: last + 1]
    NotebookClient(book, timeout=180, kernel_name="python3").execute()
    assert "copied back: rows, sft" in str(book.cells[-1].outputs)
    assert (tmp_path / "new" / "colab" / "sft" / "result.json").is_file()
