"""The notebook for borrowed GPUs, top to bottom in a plain kernel without one: data, train, compare, pack."""

import json
import zipfile
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.slow

BOOK = Path(__file__).resolve().parents[2] / "notebooks" / "colab_train.ipynb"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model as it is before pretraining: it writes nonsense, by the same road."""
    pytest.importorskip("trl")
    from discover_lib.engines.local.tiny_language import vocabulary
    from discover_lib.engines.local.tiny_model import CARD, TinyRecipe, new_model, save_model

    recipe = TinyRecipe(domains=("svg_drawing",), width=32, layers=1, heads=2, inner=64).resolved()
    folder = tmp_path_factory.mktemp("tiny") / "base"
    save_model(new_model(recipe), vocabulary(recipe.domains), folder)
    (folder / CARD).write_text(json.dumps({"domains": recipe.domains}))
    return folder


def test_it_holds_nothing_that_was_run_and_no_shell_lines() -> None:
    book = nbformat.read(BOOK, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code and all(not cell.outputs and cell.execution_count is None for cell in code)
    assert not [line for cell in code for line in cell.source.splitlines() if line.startswith(("!", "%"))]


def test_it_runs_to_the_end_without_a_gpu(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    settings = {
        "DISCOVER_OUTPUTS": str(tmp_path),
        "DISCOVER_BASE": str(base),
        "DISCOVER_ARTIFACTS": "6",
        "DISCOVER_CHANGES": "max_steps=3 batch=2 per_device=2 sample_steps=0",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    book = nbformat.read(BOOK, as_version=4)
    NotebookClient(book, timeout=180, kernel_name="python3").execute()
    shown = "".join(
        str(output.get("text", "")) + "".join(map(str, output.get("data", {}).values()))
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "the tiny model shows the way" in shown and "6 of 6 conversations finished" in shown
    assert 'data-job="finished"' in shown and "<polyline" in shown and "dl-chat" in shown
    (packed,) = (tmp_path / "colab").glob("*.zip")
    with zipfile.ZipFile(packed) as archive:
        assert {"adapter/adapter_config.json", "adapter/adapter_model.safetensors", "lineage.json"} <= set(
            archive.namelist()
        )
        result = json.loads(archive.read("result.json"))
    assert (result["step"], result["rows"]) == (3, 6 - round(0.1 * 6))
