"""Choices that travel from page to page."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import marimo as mo
import pytest
from notebook_runs import Address

from discover_lib import Rules
from workbench.carried import OWN, address_of, base_rules, kept, rules_set

pytestmark = pytest.mark.slow  # marimo alone takes a second to import

PAPER = Rules.paper()


def test_an_address_holds_what_the_next_page_reads() -> None:
    address = address_of("4_data.py", "synthesis/a+b", labels="paper, GRPO", pool=["one", "two"])
    asked = parse_qs(urlsplit(address).query)
    assert asked == {
        "file": ["4_data.py"], "run": ["synthesis/a+b"], "labels": ["paper, GRPO"], "pool": ['["one","two"]'],
    }  # fmt: skip


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Address:
    made = Address()
    monkeypatch.setattr(mo, "query_params", lambda: made)
    monkeypatch.setattr(mo, "running_in_notebook", lambda: True)
    return made


@pytest.mark.parametrize(
    ("kind", "arguments", "default", "asked", "holds"),
    [
        (mo.ui.slider, (0, 10, 1), 3, "7", 7),
        (mo.ui.slider, (0, 10, 1), 3, "70", 10),
        (mo.ui.slider, (0, 10, 1), 3, "many", 3),
        (mo.ui.range_slider, (0, 10, 1), [0, 10], "[2,5]", [2, 5]),
        (mo.ui.checkbox, (), False, "true", True),
        (mo.ui.checkbox, (), False, "7", False),
        (mo.ui.dropdown, (["a", "b"],), "a", "b", "b"),
        (mo.ui.dropdown, (["a", "b"],), "a", "c", "a"),
        (mo.ui.dropdown, ([1, 2, 4],), 1, "4", 4),
        (mo.ui.radio, ({"one": 1, "two": 2},), "one", "two", 2),
        (mo.ui.multiselect, (["a", "b"],), ["a"], '["a","b"]', ["a", "b"]),
        (mo.ui.multiselect, (["a", "b"],), ["a"], "a", ["a"]),
        (mo.ui.text, (), "", "[1]", "[1]"),
    ],
)
def test_a_control_begins_as_the_address_says(
    address: Address, kind: Any, arguments: tuple[Any, ...], default: Any, asked: str, holds: Any
) -> None:
    address["x"] = asked
    assert kept(kind, "x", *arguments, value=default).value == holds


def test_what_is_chosen_stands_in_the_address_and_a_default_does_not(address: Address) -> None:
    address["p"] = "0.5"
    menu = kept(mo.ui.dropdown, "rules", {"Paper": 1, "Authors": 2}, value="Paper", forgets=("p",))
    menu._on_change(2)
    assert address == {"rules": "Authors"}, "and what the other choice made void is gone"
    menu._on_change(1)
    assert address == {}
    box = kept(mo.ui.checkbox, "all", value=False)
    box._on_change(True)
    assert address == {"all": "true"}


def test_a_folder_stands_in_the_address_as_its_path(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", "/outputs")
    places = {"today 21:39": Path("/outputs/synthesis/a"), "today 21:40": Path("/outputs/b")}
    menu = kept(mo.ui.dropdown, "run", places, value="today 21:39")
    menu._on_change(places["today 21:40"])
    assert address == {"run": "b"}
    later = {"yesterday 21:39": places["today 21:39"], "yesterday 21:40": places["today 21:40"]}
    assert kept(mo.ui.dropdown, "run", later, value="yesterday 21:39").value == Path("/outputs/b")


def test_rules_keep_the_runs_unit_and_their_name_until_something_is_moved() -> None:
    own = PAPER.replace(token_unit="words")
    assert base_rules(OWN, own) is own
    base = base_rules("paper, GRPO", own)
    assert (base.tau, base.token_unit) == (500, "words")
    assert rules_set(base, base.p, base.tau, 1000 * base.lam) == base
    assert rules_set(base, 0.5, base.tau, 2).lam == 0.002
