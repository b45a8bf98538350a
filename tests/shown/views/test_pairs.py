"""Pairs opened up: the words fit the label, plots hold every number, and nothing unsafe gets through."""

import dataclasses
import re

import pytest
from hostile import HOSTILE, HOSTILE_SVG, Tags, conversation

from discover_lib import Rules, replay
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.filters import Filters, sieve
from discover_lib.dataset.lengths import table_3
from discover_lib.dataset.pairs import labelled_turns
from discover_lib.dataset.preview import TEMPLATES
from discover_lib.dataset.rows import Origin, examples
from workbench.views import pairs as show_pairs
from workbench.views.figures.charts import PLOT

ORIGIN = Origin("a run", "judge", "voice")


def first_turn(talk: Conversation, rules: Rules | None = None) -> str:
    return show_pairs.why(next(labelled_turns(talk, rules)), rules or talk.rules)


def unequal() -> Conversation:
    """The first turn's second reply is long enough to cost something."""
    talk = conversation()
    short, long = talk.turns[0].candidates
    long = dataclasses.replace(long, reply=dataclasses.replace(long.reply, n_tokens=400))
    first = dataclasses.replace(talk.turns[0], candidates=(short, long))
    return replay(dataclasses.replace(talk, turns=(first, *talk.turns[1:])))


def test_why_says_what_decided() -> None:
    assert first_turn(conversation()).startswith("A tie: every reply is worth +")
    assert "went on with adaptive" in first_turn(conversation())
    said = first_turn(unequal())
    assert "adaptive is chosen" in said and "margin of 0.15" in said
    assert "the charge for length alone makes this label" in said
    free = Rules.paper().replace(lam=0.0)
    assert first_turn(unequal(), free).startswith("A tie")
    alone = list(labelled_turns(conversation()))[1]
    assert show_pairs.why(alone, Rules.paper()) == "No label: only one candidate: nothing to prefer it to."


@pytest.mark.parametrize("text", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```"])
def test_nothing_unsafe_gets_through(text: str) -> None:
    talk = dataclasses.replace(conversation((text, "second"), said=text), stop="max_turns")
    labelled = next(labelled_turns(talk))
    (row,) = examples("sft", [talk], ORIGIN)
    parts = [
        show_pairs.pair(talk, labelled, talk.rules),
        show_pairs.row_json(row.row, row.train),
        show_pairs.loss(TEMPLATES["Qwen2.5"].sequences(row.train)),
    ]
    for name, attributes in Tags("".join(parts)).tags:
        assert name != "script" and not any(key.startswith("on") for key in attributes)


@pytest.mark.parametrize(
    "values", [[0.0], [3.0], [-2.0, -2.0], [-468.0, 0.0, 432.0], [0.1 * step for step in range(-7, 9)]]
)
def test_every_number_is_in_the_plot_once(values: list[float]) -> None:
    drawn = show_pairs.histogram(values, "lengths", "tokens", "shorter", "longer")
    counts = [int(count) for count in re.findall(r": (\d+)</title>", drawn)]
    zeros = re.search(r"exactly 0: (\d+)", drawn)
    assert sum(counts) + (int(zeros[1]) if zeros else 0) == len(values)
    places = [float(x) for x in re.findall(r'<rect [^>]*x="([\d.-]+)"', drawn)]
    assert all(0 <= place <= PLOT.width for place in places)


def test_counts_of_what_is_left_out_add_up() -> None:
    made = list(examples("preference", [unequal(), conversation()], ORIGIN))
    shown = show_pairs.sieved(sieve(made, Filters(min_margin=1.0)), "preference")
    assert "preference rows of 4 considered" in shown
    legend = [int(count) for count in re.findall(r"</i>[a-z ]+ (\d+) \(", shown)]
    assert sum(legend) == 4
    table = show_pairs.table_3(table_3([unequal(), conversation()]), Rules.paper())
    assert "tie, no pair 1 (50\u00a0%)" in table and "λ = 0.001, τ = 250" in table
