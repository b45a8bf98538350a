"""Satisfaction and behaviour: what a score is made of, and who hears the final request."""

import itertools

import pytest

from discover_lib import Message
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Reply
from discover_lib.core.roles import ask
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import DEAF, SCRIPTED, USER_BLIND, scripted_assistant
from discover_lib.engines.miniature.judge import MiniatureScorer, behaviour_of, graded_value
from discover_lib.engines.miniature.lexicon import DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import parse
from discover_lib.engines.miniature.reading import read_reply, read_user
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.metrics import satisfaction
from discover_lib.metrics.satisfaction import FINAL_REQUEST, FINAL_REQUESTS, satisfaction_scores
from discover_lib.metrics.scorer import FAMILIES, family_of, letters, trigrams

LETTERS = {"C": "convergent", "D": "divergent", "-": None}


def met(**rows: list[bool]) -> dict[str, dict[str, dict[str, bool]]]:
    """Assistants with which leaves of one user they satisfied."""
    return {name: {"user": {str(n): each for n, each in enumerate(row, 1)}} for name, row in rows.items()}


# -- satisfaction ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leave_out", "shares", "counted"),
    [
        pytest.param("none", {"a": 2 / 3, "b": 1 / 3 + 1 / 3}, 3, id="leaf 4, met by none, does not count"),
        pytest.param("all", {"a": 1 / 3, "b": 1 / 3}, 3, id="leaf 1, met by all, does not count"),
    ],
)
def test_which_leaves_count(leave_out: str, shares: dict, counted: int) -> None:
    found = satisfaction_scores(met(a=[True, True, False, False], b=[True, False, True, False]), leave_out)
    assert {name: row["user"] for name, row in found.per_user.items()} == pytest.approx(shares)
    assert (found.leave_out, found.n_leaves, found.n_counted) == (leave_out, 4, counted)


@pytest.mark.parametrize("leave_out", ["none", "all"])
def test_of_one_assistant_alone_all_leaves_count(leave_out: str) -> None:
    found = satisfaction_scores(met(a=[True] * 3 + [False] * 7), leave_out)
    assert found.per_user == {"a": {"user": 0.3}} and (found.n_leaves, found.n_counted) == (10, 10)
    assert "plain share of all 10 leaves" in satisfaction.leaves_line(1, found.n_counted, found.n_leaves, leave_out)
    same = satisfaction_scores(met(a=[leave_out == "all"], b=[leave_out == "all"]), leave_out)
    assert same.left_out == ("user",), "no leaf counts"


@pytest.mark.parametrize(
    ("rows", "leave_out", "named"),
    [
        pytest.param(met(a=[True]) | {"b": {}}, "none", "'b'.*users", id="a user missing"),
        pytest.param(met(a=[True], b=[True, True]), "none", "'b'.*leaves", id="other leaves"),
        pytest.param(met(a=[True]), "some", "'some'", id="unknown switch"),
    ],
)
def test_what_cannot_be_compared_is_refused(rows: dict, leave_out: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        satisfaction_scores(rows, leave_out)


# -- the final request ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        *((request, True) for request in FINAL_REQUESTS.values()),
        ("can i have the final version?", True),
        ("i want a heron", False),
        ("it is not final yet, something is missing", False),
    ],
)
def test_who_asks_for_the_finished_piece(text: str, asked: bool) -> None:
    assert satisfaction.asks_for_final(text) is asked


@pytest.mark.parametrize("request_text", FINAL_REQUESTS.values())
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_final_request_says_nothing_about_what_is_wanted(domain: str, request_text: str) -> None:
    heard = read_user(request_text, domain)
    assert heard.final and not (heard.wanted or heard.liked or heard.hinted or heard.doubted)


@pytest.mark.parametrize("name", SCRIPTED)
def test_asked_for_the_finished_piece_an_assistant_builds_it(name: str) -> None:
    domain = "creative_writing"
    tree = engine(domain).builder.build(generate_artifact(domain, "eval", 0)).tree
    wanted = load_lexicon(domain).values[load_lexicon(domain).dimensions["setting"].leaves[0]]
    messages = [
        Message("user", f"a story with {wanted.say}"),
        Message("assistant", "What would you want for the tone?"),
        Message("user", FINAL_REQUEST),
    ]
    reply = ask(scripted_assistant(name, domain), tree, initial_state(tree, Rules.paper()), messages, seed=1)
    reading = read_reply(reply.text, domain)
    if name in DEAF:
        assert name in ("random", USER_BLIND) or not reading.options
    else:
        assert reading.kind == "artifact" and len(reading.options) == 1
        assert name == "oracle" or wanted.id in reading.options[0]


def test_the_finished_piece_is_the_last_draft_when_nothing_else_was_said() -> None:
    lexicon = load_lexicon("creative_writing")
    drafter = scripted_assistant("draft", "creative_writing")
    said = [Message("user", "a story please")]
    first = ask(drafter, None, None, said, seed=1)  # type: ignore[arg-type]
    then = [*said, Message("assistant", first.text), Message("user", FINAL_REQUEST)]
    final = ask(drafter, None, None, then, seed=2)  # type: ignore[arg-type]
    assert parse(final.notation or "", lexicon) == parse(first.notation or "", lexicon)


# -- the miniature's scorer -----------------------------------------------------------------------------------------


def leaf_with_sibling_and_stranger(domain: str) -> tuple[str, str, str]:
    """A leaf, a sibling of it and another value of its dimension that is no sibling."""
    lexicon = load_lexicon(domain)
    for dimension in lexicon.dimensions.values():
        for leaf in dimension.leaves:
            siblings = [each for each in lexicon.siblings[leaf] if each in dimension.leaves]
            above = {below for each in lexicon.siblings[leaf] for below in lexicon.below[each]}
            strangers = [each for each in dimension.leaves if each != leaf and each not in above]
            if siblings and strangers:
                return leaf, siblings[0], strangers[0]
    raise AssertionError("a lexicon without such a leaf")


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_leaf_is_graded_by_the_distance_of_what_is_shown(domain: str) -> None:
    lexicon = load_lexicon(domain)
    leaf, sibling, stranger = leaf_with_sibling_and_stranger(domain)
    others = [each for each in lexicon.dimensions.values() if each.name != lexicon.values[leaf].dimension]
    elsewhere = others[0].leaves[0]
    pieces = {5: {leaf: "it"}, 3: {sibling: "near"}, 2: {stranger: "another"}, 1: {elsewhere: "else"}}
    assert {score: graded_value(leaf, piece, lexicon)[0] for score, piece in pieces.items()} == {n: n for n in pieces}
    assert graded_value(leaf, {stranger: "another", leaf: "it"}, lexicon) == (5, "it")


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_artifact_itself_satisfies_every_leaf_and_nothing_satisfies_none(domain: str) -> None:
    artifact = generate_artifact(domain, "eval", 3)
    tree = engine(domain).builder.build(artifact).tree
    shown = artifact.text if domain == "svg_drawing" else "\n".join(f"> {line}" for line in artifact.text.splitlines())
    scorer = MiniatureScorer(domain)
    assert {each.score for each in scorer.satisfaction(tree, Reply(shown, 1, "test"))} == {5}
    empty = scorer.satisfaction(tree, Reply("All right.", 1, "test"))
    assert [each.intent_id for each in empty] == list(tree.leaves())
    assert {each.score for each in empty} == {1} and empty[0].reason == "nothing was made"


@pytest.mark.parametrize(
    ("notation", "behaviour"),
    [
        ("{whole}", "convergent"),
        ("show {a} {x} / {y}", "divergent"),
        ("ask {a} ?", "divergent"),
        ("{whole} show {a} {x} / {y}", "convergent"),
        ("pass", None),
    ],
)
def test_what_a_turn_does(notation: str, behaviour: str | None) -> None:
    lexicon = load_lexicon("technical_writing")
    first = next(iter(lexicon.dimensions.values()))
    whole = " ".join(["draft", *(f"{each.name} {each.leaves[0]}" for each in lexicon.dimensions.values())])
    slots = {"whole": whole, "a": first.name, "x": first.leaves[0], "y": first.leaves[1]}
    reply = make_reply(parse(notation.format(**slots), lexicon), lexicon, "test")
    assert behaviour_of(1, read_reply(reply.text, "technical_writing"), lexicon).behaviour == behaviour


@pytest.mark.slow
def test_interactivity_wants_opening_up_and_taking_up() -> None:
    domain, user, ratings = "technical_writing", engine("technical_writing"), {}
    for name in ("draft", "adaptive", "mixed", "silent"):
        rated = []
        for seed in range(4):
            tree = user.builder.build(generate_artifact(domain, "eval", seed)).tree
            talk = run_conversation(tree, user.judge, user.voice, [scripted_assistant(name, domain)], seed=seed)
            rated.append(MiniatureScorer(domain).interactivity(talk))
        assert all(1 <= each.rating <= 3 and 0 <= each.score <= 1 for each in rated)
        ratings[name] = sum(each.rating for each in rated) / len(rated)
    assert ratings["silent"] == 1
    assert ratings["draft"] == 2  # honours what was said and never opens up
    assert ratings["adaptive"] > 2.2 and ratings["mixed"] == 3


def test_the_four_families_part_all_eight_patterns() -> None:
    patterns = ["".join(each) for each in itertools.product("CD", repeat=3)]
    found = {each: family_of([LETTERS[letter] for letter in each]) for each in patterns}
    rows = dict.fromkeys(("CCD", "CDD", "DCC", "DDC"), "two in a row")
    assert found == {"CCC": "CCC", "DDD": "DDD", "CDC": "alternating", "DCD": "alternating", **rows}


@pytest.mark.parametrize(
    ("turns", "counts"),
    [
        ("CCCCC", (3, 0, 0, 0)),
        ("DDCDC", (0, 0, 1, 2)),  # DDC, DCD, CDC
        ("CD", (0, 0, 0, 0)),
        ("CC-CC", (0, 0, 0, 0)),  # a turn of neither kind stands in every window
    ],
)
def test_windows_of_three_turns(turns: str, counts: tuple[int, ...]) -> None:
    behaviours = [LETTERS[letter] for letter in turns]
    assert trigrams(behaviours) == dict(zip(FAMILIES, counts, strict=True))
    assert letters(behaviours) == turns
