"""Notebooks of Jupyter in a plain kernel: the one for borrowed GPUs from top to bottom, and values that are drawn.

To import nbformat takes seconds, so only the tests that need it do so.
"""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from training import make_base, make_data

pytestmark = pytest.mark.slow

BOOK = Path(__file__).resolve().parents[2] / "notebooks" / "colab_train.ipynb"


@pytest.mark.parametrize("path", sorted(BOOK.parent.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_of_jupyter_holds_nothing_that_was_run_and_no_shell_lines(path: Path) -> None:
    import nbformat

    book = nbformat.read(path, as_version=4)
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
    book = json.loads(BOOK.read_text(encoding="utf-8"))
    source = next("".join(each["source"]) for each in book["cells"] if "def requirement" in "".join(each["source"]))
    names: dict[str, Any] = {}
    exec(source, names)  # the project is installed here, so the cell installs nothing
    assert names["requirement"](project, "train") == wanted and Requirement(wanted).url


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the notebook with these settings on a tiny base, up to the cell that holds a text, or to its end."""

    import nbformat
    from nbclient import NotebookClient

    def execute(last: str = "", **settings: str | Path) -> Any:
        for name, value in {"BASE": make_base(tmp_path / "base"), **settings}.items():
            monkeypatch.setenv(f"DISCOVER_{name}", str(value))
        for name, value in {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}.items():
            monkeypatch.setenv(name, value)
        book = nbformat.read(BOOK, as_version=4)
        places = [place for place, cell in enumerate(book.cells) if last and last in cell.source]
        book.cells = book.cells[: places[0] + 1] if places else book.cells
        for cell in book.cells:  # a toy is trained sooner than it is looked at
            cell.source = re.sub(r"time\.sleep\(\d+\)", "time.sleep(0.1)", cell.source)
        NotebookClient(book, timeout=600, kernel_name="python3").execute()
        return book

    return execute


def test_rows_of_one_s_own_take_the_place_of_the_miniature_s(executed: Callable[..., Any], tmp_path: Path) -> None:
    rows = make_data(tmp_path / "mine")
    book = executed("def price", OUTPUTS=tmp_path / "new", DATA=rows, STAGES="sft dpo", BASE="tiny")
    assert "sft: 3 rows, 102 updates of the model, about 56 s with loading" in str(book.cells[-1].outputs)
    assert (tmp_path / "new" / "colab" / "rows" / "dpo" / "dataset.json").is_file()


def test_it_runs_to_the_end_without_a_gpu(executed: Callable[..., Any], tmp_path: Path) -> None:
    few = ("batch=2", "per_device=2", "max_steps=2", "sample_steps=0")
    changes = " ".join(f"{stage}.{each}" for stage in ("sft", "dpo") for each in few)
    drive = tmp_path / "drive"
    book = executed(OUTPUTS=tmp_path, STAGES="sft dpo", ARTIFACTS="6", DRIVE=drive, CHANGES=changes)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = "".join(str(each.get("text", "")) + "".join(map(str, each.get("data", {}).values())) for each in outputs)
    assert "the default is the tiny model" in shown and "6 of 6 conversations finished" in shown
    for stage in ("sft", "dpo"):  # said before each stage begins
        assert re.search(rf"{stage}: \d+ rows, 2 updates; the time on this machine is unknown", shown)
    assert 'data-job="finished"' in shown and "<polyline" in shown and "dl-chat" in shown
    (packed,) = (tmp_path / "colab").glob("*.zip")
    with zipfile.ZipFile(packed) as archive:
        names = {*archive.namelist()}
        result = json.loads(archive.read("result.json"))
    assert {"adapter/adapter_config.json", "adapter/adapter_model.safetensors", "lineage.json"} <= names
    assert packed.name == "dpo-adapter.zip" and result["step"] == 2
    kept = {path.name for path in drive.rglob("*")}
    assert {"rows", "sft", "dpo", "adapter", "result.json"} <= kept
    assert not any("sqlite" in name or name.endswith((".lock", ".partial")) for name in kept)


def test_a_new_machine_copies_kept_files_and_trains_nothing_twice(executed: Callable[..., Any], tmp_path: Path) -> None:
    """The cells before training, in a place where only the drive is left of an earlier machine."""
    for stage in ("rows", "sft"):
        (tmp_path / "drive" / stage).mkdir(parents=True)
    (tmp_path / "drive" / "sft" / "result.json").write_text("{}")
    book = executed("copied back", OUTPUTS=tmp_path / "new", DRIVE=tmp_path / "drive")
    assert "copied back: rows, sft" in str(book.cells[-1].outputs)
    assert (tmp_path / "new" / "colab" / "sft" / "result.json").is_file()


VALUES = """
import workbench
from discover_lib import UserSimulator
from discover_lib.miniature import engine
from discover_lib.miniature.artifacts import generate_artifact
from workbench.map import IntentMap, MapMoment

user = engine("svg_drawing")
drawing = generate_artifact("svg_drawing", "eval", 0)
built = user.builder.build(drawing)
tree = built.tree
simulator = UserSimulator(tree, user.judge, user.voice)
drawn = IntentMap(tree, [MapMoment(simulator.state)])
drawn.widget
"""
UPDATE = """
before, frame = drawn.widget.moments, drawn.widget.frame
turn = simulator.step("a small red fox?")
drawn.show(MapMoment(turn.after, turn.candidate.transitions, 1))
assert drawn.widget.moments != before, "the map shows the turn"
assert drawn.widget.frame == frame, "no intent moved"
tree.figure(turn.after, live=True)
"""
SEEN = ("drawing", "built", "tree", "turn", "simulator", "simulator.conversation")


def test_widgets_and_values_are_drawn_in_a_plain_kernel_and_their_text_is_short() -> None:
    import nbformat  # takes seconds
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(text) for text in (VALUES, UPDATE, *SEEN)]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=180, kernel_name="python3").execute()
    for cell in cells[:2]:
        assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in cell.outputs)
    shown = {name: cell.outputs[0].data for name, cell in zip(SEEN, cells[2:], strict=True)}
    assert [name for name in shown if "text/html" in shown[name]] == list(SEEN)
    assert "<img" in shown["drawing"]["text/html"] and "dl-chat" in shown["simulator"]["text/html"]
    text = {name: data["text/plain"] for name, data in shown.items()}
    assert all(len(each) < 2000 and "object at 0x" not in each and "IntentTree(" not in each for each in text.values())
    assert text["tree"].splitlines()[1].startswith("  ● ") and "turn 1" in text["turn"]
