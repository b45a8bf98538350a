"""A page's panel: what it opens, begins, stops and goes on with, in a marimo program as a page is one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import marimo
import pytest
from markupsafe import escape

from discover_lib.runs.options import RunOptions, RunOptionsError, execute
from discover_lib.runs.store import RunStore
from workbench.jobs import domains_of, find_runs, laid_out, last_of
from workbench.panel import RunPanel

pytestmark = pytest.mark.slow  # marimo alone takes a second to import

SMALL = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=2, turns=2, candidates=1)
SCORED = RunOptions(("draft", "adaptive"), artifacts=2, turns=2)
page = marimo.App()


@page.cell
def _() -> Any:
    story = print
    return (story,)


@page.cell
def _(story: Any) -> Any:
    told = story()
    return (told,)


def on_a_page(story: Callable[[], Any]) -> Any:
    """What the story comes to when a page tells it: with states, an address, and controls."""
    return page.run(defs={"story": story})[1]["told"]


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return tmp_path


def test_where_nothing_is_there_a_small_run_is_made_and_found_again(outputs: Path) -> None:
    def story() -> RunPanel:
        return RunPanel("synthesis", SMALL)

    panel, again = on_a_page(story), on_a_page(story)
    assert panel.get_folder() == again.get_folder() == next(iter(find_runs(outputs).values()))
    assert (panel.trouble, panel.going) == ("", False)
    words, read, resumable = panel._look()
    assert ">2 of 2 conversations, 2 replies each turn</p>" in words and (read, resumable) == (2, False)


def test_without_an_address_the_first_run_opens_and_not_what_another_visitor_made(outputs: Path) -> None:
    def story() -> RunPanel:
        return RunPanel("evaluations", SCORED, ("svg_drawing",))

    first = on_a_page(story).get_folder()
    (outputs / "evaluations" / "theirs").mkdir()
    execute(laid_out(replace(SCORED, artifacts=1), ("svg_drawing",)), outputs / "evaluations" / "theirs")
    panel = on_a_page(story)
    assert panel.get_folder() == first and list(panel.known().values()) == [outputs / "evaluations" / "theirs", first]


def test_a_press_begins_once_and_what_was_chosen_just_before_it(outputs: Path) -> None:
    def story() -> tuple[RunPanel, list[Path]]:
        panel = RunPanel("synthesis", SMALL)
        panel.ask(RunOptions(("draft",), domain="svg_drawing", artifacts=1, turns=1, candidates=1))
        panel.begin_if_pressed(panel.get_pressed())
        untouched = panel.get_folder()
        panel.begin_button._on_click(None)  # the page hears the press and a choice at once: its cell asks, then begins
        panel.ask(RunOptions(("ask",), domain="svg_drawing", artifacts=1, turns=1, candidates=1))
        panel.begin_if_pressed(1)
        begun = panel.get_folder()
        panel.ask(RunOptions(("options",), domain="svg_drawing", artifacts=1, turns=1, candidates=1))
        panel.begin_if_pressed(1)
        return panel, [untouched, begun, panel.get_folder()]

    panel, (untouched, begun, after) = on_a_page(story)
    job = last_of(begun)
    assert job is not None
    job.wait()
    assert untouched.name.startswith("svg_drawing-draft+adaptive-") and begun == after
    assert begun.name.startswith("svg_drawing-ask-1x1-") and panel.trouble == "" and len(find_runs(outputs)) == 2


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"options": None, "refusal": "choose an assistant"}, "choose an assistant"),
        ({"options": RunOptions(("openai/m",), domain="svg_drawing", candidates=2)}, "language models cost money"),
        ({"options": RunOptions(("draft",), domain="opera")}, "unknown domain 'opera'"),
    ],
)
def test_what_is_refused_is_one_line_and_begins_nothing(outputs: Path, asked: dict[str, Any], says: str) -> None:
    def story() -> tuple[RunPanel, str]:
        panel = RunPanel("synthesis", SMALL)
        panel.ask(**asked)
        panel.attempt(panel.begin)
        return panel, panel.view(panel.clock(None, 1), panel.get_folder(), 1).text

    panel, shown = on_a_page(story)
    assert panel.trouble.startswith(says) and str(escape(f"{says[0].upper()}{says[1:]}")) in shown
    assert len(find_runs(outputs)) == 1


def test_a_stopped_run_is_gone_on_with_from_its_configuration_alone(outputs: Path) -> None:
    def story() -> RunPanel:
        panel = RunPanel("synthesis", SMALL)
        panel.attempt(panel.stop)
        panel.attempt(panel.resume)
        return panel

    panel = on_a_page(story)
    job = last_of(panel.get_folder())
    assert job is not None
    job.wait()
    assert panel.trouble == job.trouble == ""
    assert job.options == RunOptions.from_configuration(laid_out(SMALL).configuration)
    with RunStore.read(panel.get_folder()) as store:
        assert laid_out(job.options).configuration == store.configuration


def test_an_address_that_names_no_run_is_said(outputs: Path) -> None:
    class Lost(RunPanel):
        def _opened(self, asked: str | None) -> tuple[Path, str]:
            return super()._opened("lost")

    assert on_a_page(lambda: Lost("synthesis", SMALL)).trouble == "there is no run 'lost' here; this is another one"


def test_options_come_back_from_a_configuration_or_say_why_not() -> None:
    domains = ("svg_drawing", "travel_plan")
    configuration = laid_out(SCORED, domains).configuration
    begun = RunOptions.from_configuration(configuration)
    assert domains_of(configuration) == domains
    assert laid_out(begun, domains).configuration == configuration
    assert domains_of({**configuration, "domain": None}) == ()  # of trees of one's own
    for other in ({"kind": "import"}, {**configuration, "domain": None}):
        with pytest.raises(RunOptionsError, match="the same command resumes it"):
            RunOptions.from_configuration(other)
