"""Tables and figures of an evaluation: what they say, what can be pressed, and that nobody's text becomes markup."""

import csv
import dataclasses
import html
import io
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.base.ids import DiscoverId
from discover_lib.core.conversation import Candidate, Reply, Turn
from discover_lib.core.state import Discovery, IntentState, Transition
from discover_lib.core.view import UserView
from discover_lib.engines.miniature import assistants
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.metrics.paired import compare, fewest_artifacts
from discover_lib.metrics.results import MEASURE, MEASURES, Pool, pools_without
from discover_lib.metrics.scores import ConversationScores
from workbench.views import explain
from workbench.views import scores as show_scores
from workbench.views.beside import marked_reply
from workbench.views.figures import charts
from workbench.views.figures.theme import SCRIPTED_LOOKS, looks, named, short
from workbench.views.located import Evidence
from workbench.views.pages import evaluation_page, scores_csv

NASTY = 'a<b>&"c"'


def scores(assistant: str, artifact: int, found: int, tokens: int = 100) -> ConversationScores:
    """A conversation of one turn with three hidden intents, of which so many were found."""
    moves = {str(intent): (1, 1) if intent < found else (0, 0) for intent in range(3)}
    return ConversationScores(
        place=artifact,
        domain="d",
        artifact=f"a{artifact}",
        trial=0,
        assistant=assistant,
        stop="max_turns",
        moves=moves,
        rewards=(float(found),),
        tokens=(tokens,),
        leaves={"1": 5 if found else 1},
        interactivity=0.5,
        behaviours=("divergent",),
    )


def pool(**found: list[int]) -> Pool:
    """A pool of assistants by what each found of every artifact."""
    return Pool([scores(name, at, each) for name, row in found.items() for at, each in enumerate(row)])


def table_of(given_pool: Pool) -> dict[str, dict[str, Estimate]]:
    values = {each.name: given_pool.values(each.name) for each in MEASURES}
    return {
        name: {measure: bootstrap_mean(row[name]) for measure, row in values.items() if row.get(name)}
        for name in given_pool.assistants
    }


def text_of(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


APART = pool(good=[3] * 8, bad=[0] * 8, middle=[1, 2] * 4)
CLOSE = pool(left=[1, 2] * 4, right=[2, 1] * 4)


def answered(given_pool: Pool, measure: str = "proportion") -> str:
    compared = compare(given_pool.values(measure))
    said = show_scores.answer(table_of(given_pool), compared, MEASURE[measure])
    return text_of(re.sub("<details.*?</details>", "", said, flags=re.DOTALL))


def test_the_answer_says_who_leads_and_whether_one_can_tell() -> None:
    said = answered(APART)
    assert "good has the highest found: 1.00 [1.00, 1.00] (n = 8 artifacts)" in said
    assert "told apart from every other assistant" in said and "3 of 3 pairs" in said
    said = answered(CLOSE)
    assert "not distinguishable from" in said and "one of 0.03" in said
    assert "0 of 1 pairs" in said


def test_the_fewest_tokens_are_the_best_and_nobody_is_praised_for_more() -> None:
    talks = Pool([scores(name, at, 1, tokens) for name, tokens in (("brief", 100), ("long", 900)) for at in range(8)])
    said = answered(talks, "tokens")
    assert said.startswith("brief has the lowest kTok: 0.10") and "told apart from every other assistant" in said
    assert said.endswith("Fewer is better, where as much is discovered.")
    table, marks = table_of(talks), looks(talks.assistants)
    markup = show_scores.pairs(table, compare(talks.values("tokens")), MEASURE["tokens"], marks)
    (cell,) = _pressable(markup)
    assert "▲ −0.80" in cell[1] and show_scores.picked(html.unescape(cell[0])) == ("pair", "brief", "long")
    assert text_of(show_scores.results(table, {}, marks)).count("fewer is better") == sum(
        each.fewer_is_better for each in MEASURES
    )


@pytest.mark.parametrize(
    "asked", ["", "[" * 5000, "null", "3", '"abc"', "{}", '["pair", [], []]', '["cell", {}, ""]', "["]
)
def test_an_address_that_picks_nothing_picks_nothing(asked: str) -> None:
    assert show_scores.picked(asked) == ()


def test_who_only_asks_is_not_cheered_for_it() -> None:
    rated = [scores(name, at, n) for name, n in (("ask", 0), ("adaptive", 2)) for at in range(8)]
    talks = Pool(dataclasses.replace(each, interactivity=0.9 if each.assistant == "ask" else 0.5) for each in rated)
    said = show_scores.answer(table_of(talks), compare(talks.values("interactivity")), MEASURE["interactivity"])
    assert 'data-tone="open"' in said and "ask found 0.00 of the hidden intents, adaptive 0.67." in text_of(said)
    note = text_of(show_scores.interactivity_note({"engine": {"judge": "miniature"}}, table_of(talks)))
    assert note.endswith("More is not always better: ask has the most, 0.90, and found 0.00.")


def test_too_few_users_get_no_verdict() -> None:
    few = pool(good=[3] * 5, bad=[0] * 5, middle=[1, 2, 1, 2, 1])
    said = answered(few)
    assert said == (
        "good has the highest found: 1.00 [1.00, 1.00] (n = 5 artifacts), but these are too few for any verdict: the "
        "smallest p that 5 artifacts can give is 0.19 (Holm over 3); it takes 7 or more."
    )
    compared = compare(few.values("proportion"))
    markup = show_scores.pairs(table_of(few), compared, MEASURE["proportion"], looks(few.assistants))
    assert text_of(markup).count("? +") == 3 and "▲ +" not in text_of(markup) and "≈ +" not in text_of(markup)


def test_the_answer_explains_its_numbers_by_words_a_picture_and_the_call_that_gives_them() -> None:
    compared = compare(APART.values("discovery"))
    markup = show_scores.answer(table_of(APART), compared, MEASURE["discovery"])
    score, *verdicts = re.findall("<details.*?</details>", markup, flags=re.DOTALL)
    assert "What does 1.00 [1.00, 1.00] say?" in score and len(verdicts) == 2
    rows = [text_of(row) for row in re.findall(r"<tr>(.*?)</tr>", score)]  # all found a, nobody d: of b and c
    assert [row.split()[-1] for row in rows[1:]] == ["0", "0.5", "1"]
    call = html.unescape(text_of(re.findall(r"<pre.*?</pre>", score, flags=re.DOTALL)[0]))
    assert call.endswith("bootstrap_mean(Pool(scores).values('discovery')['good'])")
    assert "p = 0.008 is the share" in text_of(verdicts[0]) and "Holm’s correction makes it 0.02" in text_of(
        verdicts[0]
    )


def test_a_user_s_own_eq_4_is_written_out() -> None:
    """On the first user good found 3, middle 1 and bad 0 of 3 intents: middle has (1 − 0) / (3 − 0)."""
    user = APART.scores[16].unit
    told = explain.of_user("middle", user, MEASURE["discovery"], APART)
    assert told.words.endswith("middle 1, emerging ones as half: (1 − 0) / (3 − 0) = 0.33.")
    assert APART.per_user("discovery")["middle"][user] == pytest.approx(1 / 3)
    assert told.call.endswith(f"Pool(scores).per_user('discovery')['middle'][{user!r}]")
    assert explain.of_user("middle", user, MEASURE["proportion"], APART).words.endswith("Here 1 of 3.")


def test_bars_behind_a_number_carry_what_they_stand_for() -> None:
    rows = [{"no.": 4, "found": 0.25, "turns": 5}, {"no.": 7, "found": 0.75, "turns": 3}]
    rows.append({"no.": 9, "found": "left out", "turns": 1})
    markup = show_scores.behind(rows, "found", MEASURE["proportion"])
    assert re.findall(r'data-pick="(\d+)"', markup) == ["4", "7", "9"] and markup.count("<i ") == 2
    said = text_of(markup)
    assert "found, 0.25 to 0.75; the line is the mean, 0.50" in said and "left out" in said
    assert 'aria-label="no. 7; found 0.75; turns 3"' in markup
    assert "No conversation" in show_scores.behind([], "found", MEASURE["proportion"])


def test_who_sees_the_intents_is_a_bound_and_no_rival() -> None:
    said = answered(pool(oracle=[3] * 8, good=[2, 3] * 4, bad=[0] * 8))
    assert "good has the highest found" in said and "oracle is an upper bound, not a rival" in said
    assert "Nothing to compare" in answered(pool(oracle=[3] * 4, good=[1] * 4))


def test_every_number_of_the_table_carries_its_interval_and_n_and_can_be_pressed() -> None:
    marks = looks(APART.assistants)
    markup = show_scores.results(table_of(APART), {each.name: 8 for each in MEASURES}, marks)
    pressed = [show_scores.picked(html.unescape(each)) for each in re.findall(r'data-pick="([^"]*)"', markup)]
    held = {"discovery", "proportion", "satisfaction", "interactivity", "tokens", "reward"}
    assert held <= {*table_of(APART)["good"]}
    assert sorted(pressed) == sorted(("cell", name, each) for name, row in table_of(APART).items() for each in row)
    assert text_of(markup).count("n = 8 artifacts, 8 users") == len(MEASURES)
    assert len(re.findall(r"\[-?\d\.\d\d, -?\d\.\d\d\]", markup)) == len(pressed)
    without = {
        name: {key: each for key, each in row.items() if key != "satisfaction"} for name, row in table_of(APART).items()
    }
    assert text_of(show_scores.results(without, {}, marks)).count("not scored") == 4  # three rows and the heading


def test_pairs_point_the_way_the_data_do() -> None:
    compared = compare(APART.values("proportion"))
    markup = show_scores.pairs(table_of(APART), compared, MEASURE["proportion"], looks(APART.assistants))
    cells = {show_scores.picked(html.unescape(key)): body for key, body in _pressable(markup)}
    assert set(cells) == {("pair", "good", "middle"), ("pair", "good", "bad"), ("pair", "middle", "bad")}
    assert "▲ +1.00" in cells["pair", "good", "bad"] and "▲ +0.50" in cells["pair", "good", "middle"]
    compared = compare(CLOSE.values("proportion"))
    markup = show_scores.pairs(table_of(CLOSE), compared, MEASURE["proportion"], looks(CLOSE.assistants))
    assert "≈ 0.00" in markup and "▲ +" not in text_of(markup)


def _pressable(markup: str) -> list[tuple[str, str]]:
    return re.findall(r'data-pick="([^"]*)">(.*?)</button>', markup)


def test_a_smaller_pool_moves_scores_and_the_table_says_how_far() -> None:
    """Good finds 3 of 3, middle 1 or 2, bad none: middle has (1/3 + 2/3)/2 = 0.5; without good 1, without bad 0."""
    markup = show_scores.pools(table_of(APART), pools_without(APART), looks(APART.assistants))
    rows = {row.split()[1]: row for row in map(text_of, re.findall(r"<tr>(.*?)</tr>", markup))}
    assert re.fullmatch(r"◆ middle 0.50 \[.*?\] 0.50 \[.*?\] 1.00 \+0.50 0.00 −0.50 –", rows["middle"])
    assert "move by up to 0.50" in text_of(markup)
    assert "no smaller pool" in show_scores.pools(table_of(CLOSE), pools_without(CLOSE), {})


def test_what_is_left_out_is_counted() -> None:
    same = pool(left=[1, 2, 1, 2], right=[1, 2, 1, 3])
    failed = dataclasses.replace(same.scores[0], failed=("satisfaction",), leaves=None, leaks=2)
    counted = Pool([failed, *same.scores[1:]])
    said = text_of(show_scores.left_out(counted, looks(counted.assistants)))
    assert "eq. 4: 3 of 4 users left out" in said and "satisfaction: 3 of 3 leaves count" in said
    assert "satisfaction: 1 2" in said  # unscored in one conversation; two leaks


def test_names_of_strangers_are_no_markup() -> None:
    strange = pool(**{NASTY: [1, 2, 3], "x": [3, 2, 1]})
    marks, compared = looks(strange.assistants), compare(strange.values("discovery"))
    table = table_of(strange)
    for markup in (
        show_scores.answer(table, compared, MEASURE["discovery"]),
        show_scores.results(table, {}, marks),
        show_scores.pairs(table, compared, MEASURE["discovery"], marks),
        show_scores.left_out(strange, marks),
    ):
        assert "a<b>" not in markup and '&"c"' not in markup and "a&lt;b&gt;" in markup


def test_long_names_are_shortened_in_the_middle_and_told_whole_where_pointed_at() -> None:
    name = "hf:/somewhere/outputs/training/2026-sft-then-dpo"
    assert short(name) == "hf:/some…ing/2026-sft-then-dpo" and len(short(name)) == 30
    assert short("adaptive") == "adaptive"
    assert f'title="{name}"' in named(name, looks([name])[name])


def test_a_page_says_under_which_rules_and_by_whom_its_numbers_were_made() -> None:
    made = {"rules": {"name": "paper"}, "engine": {"judge": "miniature", "voice": "a/<b>"}, "turns": 5, "seed": 7}
    said = show_scores.made_under(made)
    assert "rules: paper; judge: miniature; voice: a/&lt;b&gt;" in said and "behaviour by: the miniature’s" in said
    assert "turns: 5; trials: not recorded; seed: 7." in said
    assert "behaviour by: openai/x" in show_scores.made_under(made | {"engine": {"judge": "openai/x"}})


def test_assistants_look_different_whatever_the_colour() -> None:
    marks = looks([str(number) for number in range(9)])
    assert len({each.symbol for each in marks.values()}) == len({each.colour for each in marks.values()}) == 9


def test_a_scripted_assistant_looks_the_same_on_every_page() -> None:
    panel, pool = looks(["oracle", "adaptive", "options"]), looks(["draft", "ask", "mine", "options", "adaptive"])
    assert {name: panel[name] for name in ("options", "adaptive")}.items() <= pool.items()
    assert len({each.symbol for each in pool.values()}) == 5
    assert len(set(looks(SCRIPTED_LOOKS).values())) == len(SCRIPTED_LOOKS)
    assert set(SCRIPTED_LOOKS) <= set(assistants.SCRIPTED), "an assistant that is added takes a look that is left"


def test_from_how_many_artifacts_on_two_can_be_told_apart() -> None:
    assert [fewest_artifacts(pairs) for pairs in (1, 6)] == [6, 8]  # 2 / 2⁶ = 0.03; 6 × 2 / 2⁸ = 0.047
    said = show_scores.too_few_line(4)
    assert "Fewer than 8 artifacts" in said and "(7: 0.09 at best)" in said
    assert show_scores.too_few_line(1) == ""


def test_the_sensitivity_map_shows_what_flips_and_names_what_does_not() -> None:
    def outcome(axis: str, *changes: tuple[str, str, str], unjudged: int = 0) -> dict:
        rows = [{"ours": ours, "theirs": theirs, "change": change} for ours, theirs, change in changes]
        return {"axis": axis, "value": "1", "changes": {"discovery": rows}, "asked": 10, "unjudged": unjudged}

    found = {
        "recheck": {"conversations": 5, "unequal": [3]},
        "base": {"discovery": [{}, {}, {}]},
        "outcomes": [
            outcome("p", ("a", "b", "lost"), ("a", "c", "same")),
            outcome("τ", ("a", "b", "same"), unjudged=2),
            outcome("turns", ("a", "b", "reversed"), ("a", "c", "gained")),
        ],
    }
    markup = show_scores.sensitivity_map(found, MEASURE["discovery"])
    assert re.findall(r'data-change="(\w+)"', markup) == ["lost", "reversed", "gained"]
    said = text_of(markup)
    assert "1 of 3 conclusions about discovery hold under every setting" in said
    assert "Nothing flips under: τ = 1." in said and "at most 20 % of those that a setting calls for (τ = 1)" in said
    assert "4 of 5 conversations score again as recorded" in said


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.floats(0, 1), max_size=9),
    st.floats(0.001, 0.2),
)
def test_labels_are_kept_apart_in_their_order_and_above_the_axis(places: dict[str, float], room: float) -> None:
    moved = charts.spread_apart(places, room)
    order = sorted(places, key=lambda name: places[name])
    ends = [moved[name] for name in order]
    assert set(moved) == set(places) and min(ends, default=0.0) >= -1e-9
    assert all(after - before >= room - 1e-9 for before, after in itertools.pairwise(ends))


def test_labels_with_room_stay_where_they_are() -> None:
    assert charts.spread_apart({"a": 0.2, "b": 0.8}, 0.1) == {"a": 0.2, "b": 0.8}
    assert charts.spread_apart({"a": 0.5, "b": 0.5}, 0.1) == pytest.approx({"a": 0.45, "b": 0.55})


def test_figures_draw_every_interval() -> None:
    """Good 1.00, middle 0.50 [0.33, 0.67] or so, bad 0.00 on an axis of 0 to 1 whose ends are `zero` and `one`."""
    table = table_of(APART)
    figure = charts.intervals(table, MEASURE["proportion"], looks(APART.assistants))
    drawn, _, phone = re.split('class="rf-(?:middle|narrow)"', figure)
    assert [each.split(":")[0] for each in re.findall("<title>(.*?)</title>", drawn)] == ["good", "middle", "bad"]
    ends = [tuple(map(float, each)) for each in re.findall(r'd="M([\d.]+),[\d.]+H([\d.]+)M', drawn)]
    one, zero = ends[0][0], ends[2][0]
    middle = table["middle"]["proportion"]
    assert middle.high is not None and middle.low is not None
    assert ends[1] == pytest.approx([zero + (one - zero) * each for each in (middle.low, middle.high)], abs=0.1)
    for each in (drawn, phone):
        assert ">1.00 [1.00, 1.00], n = 8</text>" in each and "middle: 0.50 [" in each and "n = 8</title>" in each


def test_a_chart_of_rows_fits_a_phone_with_long_names() -> None:
    """Names are written out in lines above their interval; nothing scrolls, and no line runs into the number."""
    name = "no leak: a word of the opening request that stands in an intent too"
    rows = {name: Estimate(0.5, 0.25, 0.75, 1200, 1200), "x" * 60: Estimate(0.9, 0.8, 1.0, 7, 7)}
    [phone] = re.findall('rf-narrow">(.*)', charts.dots(rows, "share with an alarm", to_one=True))
    assert "min-width" not in phone and f'viewBox="0 0 {charts.PHONE_WIDTH:g} ' in phone
    words = re.findall(r'rf-row" x="([\d.]+)" y="[\d.]+"( text-anchor="end")?>(.*?)<', phone)
    lines = [text for x, at_right, text in words if not at_right]
    assert " ".join(lines).startswith(name) and "".join(lines).endswith("x" * 60)
    numbers = [(float(x), text) for x, at_right, text in words if at_right]
    assert [text for _, text in numbers] == ["0.50 [0.25, 0.75], n = 1,200", "0.90 [0.80, 1.00], n = 7"]
    end = 18 + max(map(len, lines)) * charts.LETTER
    assert all(end <= x - len(text) * charts.LETTER and x <= charts.PHONE_WIDTH for x, text in numbers)


@pytest.mark.parametrize(
    ("low", "high", "to_one", "axis"),
    [
        (0.1, 0.96, True, (0, 1)),
        (0.1, 0.52, True, (0, 1)),
        (0.1, 0.37, True, (0, 0.4)),
        (0.0, 0.0, True, (0, 1)),
        (-0.12, 0.7, True, (-0.2, 1)),
        (0.1, 0.96, False, (0, 1)),
        (1.2, 7.3, False, (0, 8)),
    ],
)
def test_an_axis_ends_at_round_numbers_and_that_of_a_share_at_1(
    low: float, high: float, to_one: bool, axis: tuple[float, float]
) -> None:
    estimate = Estimate((low + high) / 2, low, high, 9, 9)
    assert charts.axis_of([estimate], to_one) == pytest.approx(axis)
    says = "share (axis to 0.4, not 1)" in charts.dots({"a": estimate}, "share", to_one=to_one)
    assert says == (to_one and axis[1] < 1)


def test_numbers_below_zero_have_a_minus_sign() -> None:
    assert MEASURE["reward"].shown(-0.125) == "−0.12" and MEASURE["reward"].shown(-0.001) == "0.00"


def test_tokens_are_drawn_against_discovery_with_both_intervals() -> None:
    table = table_of(APART)
    drawn, *smaller = charts.tokens_against_discovery(table, looks(APART.assistants)).split('<div class="rf-')[2:]
    assert len(smaller) == 2 and all(each.count("rf-whisker") == 6 for each in smaller)
    assert drawn.count("<title>") == drawn.count('class="rf-name"') == 3 and drawn.count("rf-whisker") == 6
    assert "good: 0.10 [0.10, 0.10] thousand tokens, discovery 1.00 [1.00, 1.00], n = 8 artifacts" in drawn
    assert "No assistant is scored" in charts.tokens_against_discovery({"a": {}}, {})


# -- marks in a reply -------------------------------------------------------------------------------------------------


def test_a_reply_is_marked_where_it_met_an_intent_and_nowhere_else() -> None:
    text = "- A farm, **at dawn**.\n- A pier & <i>sea</i>."
    state = IntentState(discovery={}, satisfied=frozenset(), thresholds={})
    turn = Turn(1, state, (Candidate(Reply(text, 5, "words"), None, state),), 0, (), UserView((), None, ()))
    move = Transition("1", Discovery.UNDISCOVERED, Discovery.DISCOVERED, "direct")
    start = text.index("A farm")
    seen = Evidence(1, move, "", (start, text.index("\n")), how="quoted")
    markup = marked_reply(turn, [seen], {"1": 'Says "farm"'})
    assert (
        '<li><mark class="ds-mark" data-how="sure" data-intents="1" title="engaged: Says &#34;farm&#34;">A farm, '
        in markup
    )
    assert markup.count("<mark") == markup.count("</mark>") == 1 and "&lt;i&gt;sea" in markup
    assert "<mark" not in marked_reply(turn, [], {})


def test_a_mark_around_bold_words_leaves_them_bold() -> None:
    text = "So: **A farm.** Then \u2e28more\u2e29"
    state = IntentState(discovery={}, satisfied=frozenset(), thresholds={})
    turn = Turn(1, state, (Candidate(Reply(text, 5, "words"), None, state),), 0, (), UserView((), None, ()))
    move = Transition("1", Discovery.UNDISCOVERED, Discovery.DISCOVERED, "direct")
    seen = Evidence(1, move, "", (text.index("**"), text.index(" Then")), how="guessed")
    markup = marked_reply(turn, [seen], {"1": "a farm"})
    opening = '<mark class="ds-mark" data-how="guessed" data-intents="1" title="engaged: a farm">'
    assert f"{opening}<strong>A farm.</strong></mark>" in markup
    assert "Then (more)" in markup  # the characters that stand for a mark's ends are never those of a text


# -- taking it elsewhere ----------------------------------------------------------------------------------------------


def test_the_csv_has_a_row_per_conversation_and_empty_cells_for_what_is_unscored() -> None:
    unscored = dataclasses.replace(APART.scores[0], interactivity=None)
    rows = list(csv.DictReader(io.StringIO(scores_csv(Pool([unscored, *APART.scores[1:]]), DiscoverId("a/run")))))
    assert len(rows) == 24 and rows[0]["interactivity"] == "" and rows[1]["interactivity"] == "0.5"
    assert [row["proportion"] for row in rows[:8]] == ["1.0"] * 8
    assert DiscoverId.parse(rows[0]["id"]) == DiscoverId("a/run", rows[0]["artifact"], rows[0]["assistant"], 0)


def test_an_evaluation_is_one_file_without_a_script() -> None:
    strange = pool(**{"</script><b>": [1, 2, 3], "x": [3, 2, 1]})
    table, marks = table_of(strange), looks(strange.assistants)
    figure = charts.intervals(table, MEASURE["discovery"], marks)
    page = evaluation_page("A & B", [("Table <1>", show_scores.results(table, {}, marks)), ("Figure", figure)])
    assert "<h1>A &amp; B</h1>" in page and "<h2>Table &lt;1&gt;</h2>" in page and "default-src 'none'" in page
    assert "<script" not in page and "<b>:" not in page and "&lt;/script&gt;&lt;b&gt;" in page
    assert (
        not re.findall(r"""<[^>]+(?:src|href)=["']?https?:""", page) and page.count('<svg class="rf"') == 3
    )  # desk, tablet, phone
