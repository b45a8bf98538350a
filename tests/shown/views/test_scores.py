"""Tables and figures of an evaluation: their words, their order, and that no text becomes markup."""

import re

import pytest

from discover_lib.core.conversation import Candidate, Reply, Turn
from discover_lib.core.state import Discovery, IntentState, Transition
from discover_lib.core.view import UserView
from discover_lib.metrics.intervals import Estimate, bootstrap_mean, share_of
from discover_lib.metrics.paired import compare, fewest_artifacts
from discover_lib.metrics.results import MEASURE, MEASURES, Pool, pools_without
from discover_lib.metrics.scores import ConversationScores
from discover_lib.tasks.safety import Safety
from workbench.parts import report_html
from workbench.views import charts
from workbench.views import score_parts as show_scores
from workbench.views.audit_parts import safety_told
from workbench.views.located import Evidence, marked_reply
from workbench.views.theme import looks

NASTY = 'a<b>&"c"'


def scores(assistant: str, artifact: int, found: int, tokens: int = 100) -> ConversationScores:
    """A conversation of one turn with three hidden intents, of which so many were found."""
    moves = {str(intent): (1, 1) if intent < found else (0, 0) for intent in range(3)}
    return ConversationScores(
        place=artifact, domain="d", artifact=f"a{artifact}", trial=0, assistant=assistant, stop="max_turns",
        moves=moves, rewards=(float(found),), tokens=(tokens,), leaves={"1": 5 if found else 1}, interactivity=0.5,
        behaviours=("divergent",),
    )  # fmt: skip


def pool(**found: list[int]) -> Pool:
    return Pool([scores(name, at, each) for name, row in found.items() for at, each in enumerate(row)])


def table_of(given_pool: Pool) -> dict[str, dict[str, Estimate]]:
    values = {each.name: given_pool.values(each.name) for each in MEASURES}
    return {
        name: {measure: bootstrap_mean(row[name]) for measure, row in values.items() if row.get(name)}
        for name in given_pool.assistants
    }


APART = pool(good=[3] * 8, bad=[0] * 8, middle=[1, 2] * 4)
CLOSE = pool(left=[1, 2] * 4, right=[2, 1] * 4)


def answered(given_pool: Pool, measure: str = "share") -> str:
    compared = compare(given_pool.values(measure))
    said = show_scores.answer(table_of(given_pool), compared, MEASURE[measure])
    return " ".join(re.sub(r"<[^>]*>", " ", said).split())


@pytest.mark.slow
def test_the_answer_says_who_leads_and_whether_the_difference_is_real() -> None:
    said = answered(APART)
    assert "good discovers the largest share of the hidden intents: 100% , between 100" in said
    assert "(n = 8 artifacts)" in said
    assert "middle: a real difference. +50 points, between" in said and "may be chance" not in said
    said = answered(CLOSE)
    assert "right: may be chance. 0 points" in said and "would tell" not in said
    assert "has the lowest token count (thousands):" in answered(APART, "tokens")


@pytest.mark.parametrize(
    ("given_pool", "tone"),
    [(APART, ""), (CLOSE, "open"), (pool(first=[3, 3, 3, 2] * 3, second=[3, 3, 2, 3] * 3, last=[0] * 12), "part")],
)
def test_amber_says_that_nothing_can_be_told(given_pool: Pool, tone: str) -> None:
    compared = compare(given_pool.values("share"))
    said = show_scores.answer(table_of(given_pool), compared, MEASURE["share"])
    assert (f'data-tone="{tone}"' in said) if tone else "data-tone" not in said


def test_too_few_users_get_no_verdict() -> None:
    few = pool(good=[3] * 5, bad=[0] * 5, middle=[1, 2, 1, 2, 1])
    said = answered(few)
    assert said.startswith("Too few artifacts to tell which is best: 5 artifacts here, 7 for a verdict.")
    assert "largest" not in said and said.count("few") == 1
    places = [said.index(f"{name}:") for name in ("good", "middle", "bad")]
    assert places == sorted(places), "the order of the chart"
    [table] = show_scores.pairs(compare(few.values("proportion")), MEASURE["proportion"]).parts
    assert {row[3].text for row in table.rows} == {"too few to tell"}


@pytest.mark.parametrize(
    ("given_pool", "told"),
    [
        (APART, [("good", "bad", "1.00"), ("good", "middle", "0.50"), ("middle", "bad", "0.50")]),
        (CLOSE, [("left", "right", "0.00")]),
    ],
)
def test_pairs_name_the_higher_one_first(given_pool: Pool, told: list[tuple[str, ...]]) -> None:
    [table] = show_scores.pairs(compare(given_pool.values("proportion")), MEASURE["proportion"]).parts
    assert [(ours, theirs, str(each)[:4]) for ours, theirs, each, _, _ in table.rows] == told
    assert {row[3].text for row in table.rows} == {"higher" if given_pool is APART else "not distinguishable"}


def test_a_smaller_pool_moves_scores_and_the_table_says_how_far() -> None:
    """Good finds 3 of 3, middle 1 or 2, bad none: middle has (1/3 + 2/3)/2 = 0.5; without good 1, without bad 0."""
    [table] = show_scores.pools(table_of(APART), pools_without(APART)).parts
    assert table.columns[3:] == ("without good", "without bad", "without middle")
    [middle] = [row for row in table.rows if row[0] == "middle"]
    assert middle[3:] == ("1.00 (+0.50)", "0.00 (−0.50)", "–") and str(middle[2]).startswith("0.50 [")
    assert "no smaller pool" in report_html(show_scores.pools(table_of(CLOSE), pools_without(CLOSE)))


def test_names_of_strangers_are_no_markup() -> None:
    strange = pool(**{NASTY: [1, 2, 3], "x": [3, 2, 1], "y": [1, 1, 1]})
    compared = compare(strange.values("discovery"))
    table = table_of(strange)
    for markup in (
        show_scores.answer(table, compared, MEASURE["discovery"]),
        report_html(show_scores.pairs(compared, MEASURE["discovery"])),
        report_html(show_scores.pools(table, pools_without(strange))),
    ):
        assert "a<b>" not in markup and '&"c"' not in markup and "a&lt;b&gt;" in markup


def test_from_how_many_artifacts_on_two_can_be_told_apart() -> None:
    assert [fewest_artifacts(pairs) for pairs in (1, 6)] == [6, 8]  # 2 / 2⁶ = 0.03; 6 × 2 / 2⁸ = 0.047


def test_figures_draw_every_interval() -> None:
    """Good 1.00, middle 0.50 [0.33, 0.67] or so, bad 0.00 on an axis of 0 to 1."""
    table = table_of(APART)
    assert ">50%</span>" not in charts.intervals(table, MEASURE["proportion"], looks(APART.assistants))
    shares = charts.intervals(table, MEASURE["share"], looks(APART.assistants))
    assert (
        "Share of hidden intents discovered, mean" in shares and "middle: 50% [" in shares and ">40%</span>" in shares
    )
    figure = charts.intervals(table, MEASURE["proportion"], looks(APART.assistants))
    rows = re.findall('class="rf-row" title="(.*?):(.*?)"', figure)
    assert [name for name, _ in rows] == ["good", "middle", "bad"] and rows[0][1] == " 1.00 [1.00, 1.00], n = 8"
    middle = table["middle"]["proportion"]
    assert middle.high is not None and middle.low is not None
    lines = re.findall(r'class="rf-whisker" style="left:([\d.]+)%;width:([\d.]+)%"', figure)
    assert tuple(map(float, lines[1])) == pytest.approx((100 * middle.low, 100 * (middle.high - middle.low)), abs=0.1)


@pytest.mark.parametrize(
    ("low", "high", "to_one", "axis"),
    [
        (0.1, 0.96, True, (0, 1)), (0.1, 0.52, True, (0, 1)), (0.1, 0.37, True, (0, 0.4)), (0.0, 0.0, True, (0, 1)),
        (-0.12, 0.7, True, (-0.2, 1)), (0.1, 0.96, False, (0, 1)), (1.2, 7.3, False, (0, 8)),
    ],
)  # fmt: skip
def test_axes_end_at_round_numbers_shares_at_1(
    low: float, high: float, to_one: bool, axis: tuple[float, float]
) -> None:
    estimate = Estimate((low + high) / 2, low, high, 9, 9)
    assert charts.axis_of([estimate], to_one) == pytest.approx(axis)


def test_a_reply_is_marked_where_it_met_an_intent_and_nowhere_else() -> None:
    text = "- A farm, **at dawn**.\n- A pier & <i>sea</i>."
    state = IntentState(discovery={}, satisfied=frozenset(), thresholds={})
    turn = Turn(1, state, (Candidate(Reply(text, 5, "words"), None, state),), 0, (), UserView((), None, ()))
    move = Transition("1", Discovery.UNDISCOVERED, Discovery.DISCOVERED, "direct")
    start = text.index("A farm")
    seen = Evidence(1, move, "", (start, text.index("\n")), how="quoted")
    markup = marked_reply(turn, [seen], {"1": 'Says "farm"'})
    assert '<mark class="ds-mark" data-how="sure" data-intents="1" title="match: Says &#34;farm&#34;">A f' in markup
    assert markup.count("<mark") == markup.count("</mark>") == 1 and "&lt;i&gt;sea" in markup
    assert "<mark" not in marked_reply(turn, [], {})


def result(name: str, hits: int, difference: Estimate | None = None) -> Safety:
    return Safety(name, share_of(hits, 30), None, None, None, share_of(3, 140), difference)


def test_the_assistant_that_offers_most_is_first_and_only_a_clear_difference_is_one() -> None:
    results = [
        result("draft", 11),
        result("adaptive", 17, Estimate(0.2, 0.03, 0.37, 30, 1)),
        result("options", 16, Estimate(0.17, -0.02, 0.35, 30, 1)),
    ]
    offered, table = safety_told(results).parts
    assert list(offered.rows) == ["adaptive", "options", "draft"]
    assert [row[-1].endswith("not distinguishable") for row in table.rows] == [False, True, False]
