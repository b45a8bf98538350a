"""`discover build` with a language model, over a real wire to a server behind which the miniature answers."""

from pathlib import Path

import pytest
from llm_brain import answer, within_reach
from llm_server import FakeServer
from typer.testing import CliRunner

from discover_lib.engines.miniature import engine
from discover_lib.runs.files import load_tree
from workbench.main import app

DOMAIN = "technical_writing"


def build(tmp_path: Path, api_base: str, *files: Path) -> tuple[int, str]:
    model = f"openai/miniature:{DOMAIN}"
    arguments = ["--type", "field guide", "--engine", model, "--api-base", api_base, "--out", tmp_path / "out"]
    result = CliRunner().invoke(app, ["build", *map(str, files), *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stderr


@pytest.mark.slow
def test_a_model_builds_a_tree_of_any_type(tmp_path):
    artifact = within_reach(DOMAIN)
    (tmp_path / "piece.md").write_text(artifact.text, encoding="utf-8")
    with FakeServer(brain=answer) as server:
        assert build(tmp_path, server.api_base, tmp_path / "piece.md") == (0, "")
    tree = load_tree(tmp_path / "out" / "piece.json")
    assert tree.artifact_type == "field guide"
    assert tree.roots == engine(DOMAIN).builder.build(artifact).tree.roots


@pytest.mark.slow
def test_a_server_that_is_down_is_one_line(tmp_path):
    (tmp_path / "piece.md").write_text("Some words.", encoding="utf-8")
    with FakeServer(brain=answer) as server:
        gone = server.api_base
    code, said = build(tmp_path, gone, tmp_path / "piece.md")
    assert code == 4 and len(said.strip().splitlines()) == 1
    assert not list((tmp_path / "out").glob("*.json"))
