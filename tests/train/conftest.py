"""What tests of training make once in a session: rows, a tiny base that was taught a little, and one finished SFT."""

from pathlib import Path

import pytest
from training import make_base, make_data, short_recipe, teach

from discover_lib.train.run_stage import StageResult, StageSettings, run_stage


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows in data/ and a base of toy size in base/, some of whose replies can be read."""
    folder = tmp_path_factory.mktemp("tiny")
    make_data(folder / "data")
    teach(make_base(folder / "base"), folder / "data", steps=80)
    return folder


@pytest.fixture(scope="session")
def sft(tiny: Path) -> StageResult:
    recipe = short_recipe().changed("sft", {"max_steps": 6})
    settings = StageSettings("sft", str(tiny / "data" / "sft"), str(tiny / "base"), recipe=recipe)
    return run_stage(settings, tiny / "sft", on_progress=lambda line: None)
