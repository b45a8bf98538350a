"""The whole paper in miniature: its steps, its folder, and what ends it."""

import dataclasses
import json
import threading
from functools import partial
from pathlib import Path

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.paper import OPTIONS, VARIANTS, WAVES, Paper, PaperError, PaperOptions, PaperStopped


def paper(folder: Path, options: PaperOptions | None = None, **given) -> tuple[Paper, list[str]]:
    told: list[str] = []
    return Paper(folder, options or PaperOptions.small(), told.append, **given), told


def with_steps(made: Paper, done: list[str], fails: str | None = None) -> Paper:
    """The same paper with steps that only say that they were done."""

    def work(name: str) -> None:
        if name == fails:
            raise PaperError(f"{name} broke")
        done.append(name)
        if name == "results":
            (made.folder / "results.json").write_text("{}")

    made.steps = {name: partial(work, name) for name in ("base", "synthesis", "results")}
    return made


def test_every_variant_is_trained_once_after_what_it_begins_with() -> None:
    order = [label for wave in WAVES for label in wave]
    assert sorted(order) == sorted(each.label for each in VARIANTS)
    for variant in VARIANTS:
        assert variant.after is None or order.index(variant.after) < order.index(variant.label)
    for wave in WAVES:
        assert not {each.after for each in VARIANTS if each.label in wave} & set(wave)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    done: list[str] = []
    first, _ = paper(tmp_path / "paper")
    with pytest.raises(PaperError, match="synthesis broke"):
        with_steps(first, done, fails="synthesis").run()
    again, told = paper(tmp_path / "paper")
    with_steps(again, done).run()
    assert done == ["base", "synthesis", "results"]
    assert told[0] == "[1/3] base: finished before"


def test_another_paper_is_refused_in_the_same_folder_by_what_differs(tmp_path: Path) -> None:
    done: list[str] = []
    with_steps(paper(tmp_path / "paper")[0], done).run()
    other = dataclasses.replace(PaperOptions.small(), seed=1, taste=2)
    with pytest.raises(PaperError, match="another seed, taste; take another folder"):
        with_steps(paper(tmp_path / "paper", other)[0], done).run()
    assert json.loads((tmp_path / "paper" / OPTIONS).read_text())["seed"] == 0


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PaperError, match="holds other files"):
        paper(tmp_path)[0].run()
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_a_setting_that_does_not_exist_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    options = dataclasses.replace(PaperOptions.small(), changes={"sft": {"learning_rat": 1.0}})
    with pytest.raises(DiscoverError, match="learning_rate"):
        paper(tmp_path / "paper", options)[0].run()
    assert not (tmp_path / "paper").exists()


def test_asked_to_stop_it_begins_no_further_step(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    done: list[str] = []
    with pytest.raises(PaperStopped):
        with_steps(paper(tmp_path / "paper", stop=stop)[0], done).run()
    assert done == []


@pytest.mark.slow
def test_synthesis_holds_all_domains_in_one_run_whose_conversations_end_with_the_piece(tmp_path: Path) -> None:
    from discover_lib.runs.store import RunStore

    options = dataclasses.replace(
        PaperOptions.small(domains=("svg_drawing", "creative_writing")), train_artifacts=2, quick=True
    )
    made, _ = paper(tmp_path / "paper", options, processes=1)
    made.folder.mkdir()
    made.synthesise()
    with RunStore.read(made.folder / "synthesis") as store:
        talks = list(store.conversations())
    assert [talk.setting["domain"] for talk in talks] == ["svg_drawing"] * 2 + ["creative_writing"] * 2
    assert all("train" in talk.setting["artifact"] or talk.final for talk in talks)
    assert all(talk.final is not None and len(talk.turns[0].candidates) == 2 for talk in talks)


@pytest.mark.slow
def test_a_list_that_ignores_the_user_is_evaluated_on_the_same_users_in_no_pool_with_the_others(tmp_path: Path) -> None:
    from discover_lib.paper import evaluation_results
    from discover_lib.runs.store import RunStore
    from workbench.views.paper_report import PaperRun

    options = dataclasses.replace(PaperOptions.small(), artifacts=2, scripted=("adaptive",))
    made, _ = paper(tmp_path / "paper", options, processes=1)
    assert [*made.steps].index("catalogue") == [*made.steps].index("evaluation") + 1
    made.folder.mkdir()
    made.evaluate_user_blind()
    made._simulate("evaluation", ("adaptive",), options.domains, 2, options.trials)
    with RunStore.read(made.folder / "catalogue") as blind, RunStore.read(made.folder / "evaluation") as others:
        met = [[talk.start.to_dict() for talk in store.conversations()] for store in (blind, others)]
        assert met[0] == met[1], "the same users"
    found = {
        "evaluation": evaluation_results(made.folder / "evaluation", {"adaptive": "adaptive"}),
        "catalogue": evaluation_results(made.folder / "catalogue", {"catalogue": "catalogue"}),
    }
    table = found["catalogue"]["scopes"][0]["table"]["catalogue"]
    assert "discovery" not in table, "eq. 4 is of a pool"
    assert table["reward"]["mean"] > 1.5 and table["satisfaction"]["mean"] == 0
    written = {"format": "discover-paper/1", "options": options.to_dict(), "labels": ["adaptive"], **found}
    (made.folder / "results.json").write_text(json.dumps(written))
    line = PaperRun.read(made.folder).user_blind_line
    assert line.startswith("catalogue, which names everything and ignores the user") and "satisfaction 0.00" in line
