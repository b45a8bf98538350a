"""The compact notation: what is written is read back, what is broken is said to be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib.engines.miniature.lexicon import DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move, NotationError, in_order, parse, write
from discover_lib.engines.miniature.rendering import make_reply, typed_reply

LEXICON = load_lexicon("technical_writing")
ONE, TWO = LEXICON.dimensions["tone"].leaves[:2]


@st.composite
def moves(draw):
    lexicon = load_lexicon(draw(st.sampled_from(DOMAINS)))
    dimension = lexicon.dimensions[draw(st.sampled_from(sorted(lexicon.dimensions)))]
    some = draw(st.lists(st.sampled_from(dimension.leaves), min_size=2, max_size=3, unique=True))
    whole = tuple(draw(st.sampled_from(each.leaves)) for each in lexicon.dimensions.values())
    kinds = {
        "draft": Move("draft", tuple(in_order(whole, lexicon))),
        "show": Move("show", tuple(in_order(some, lexicon)), dimension.name),
        "maybe": Move("maybe", tuple(in_order(some, lexicon)), dimension.name),
        "ask": Move("ask", dimension=dimension.name),
        "recap": Move("recap", tuple(in_order(whole, lexicon))),
        "pass": Move("pass"),
    }
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3))
    return lexicon, tuple(kinds[name] for name in names)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(moves())
def test_what_is_written_is_read_back(case):
    lexicon, said = case
    assert parse(write(said, lexicon), lexicon) == said


@pytest.mark.parametrize("text", [f"draft tone {ONE} tone {ONE}", f"show tone {ONE} / {TWO} / {ONE}"])
def test_what_is_said_twice_counts_once(text):
    assert sorted(parse(text, LEXICON)[0].values) == sorted({ONE, TWO} if "/" in text else {ONE})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a reply begins with one of"),
        ("hello there", "a reply begins with one of draft, .*, not with 'hello there'"),
        ("draft", "pairs of dimension and value"),
        (f"draft colour {ONE}", "is not a value of 'colour'"),
        (f"draft tone {ONE} tone {TWO}", "at most 1"),
        (f"show tone {ONE}", "at least two different alternatives"),
        (f"show tone {ONE} {TWO}", "separated by '/'"),
        (f"maybe tone {ONE} / {TWO}", "must end with '?'"),
        ("ask ?", "must name a dimension"),
        (f"ask tone {ONE} ?", "'ask' is not followed by"),
        ("pass tone", "follows 'pass'"),
    ],
)
def test_broken_notation_is_refused(text, complaint):
    with pytest.raises(NotationError, match=complaint.replace("?", r"\?")):
        parse(text, LEXICON)


def test_length_is_counted_on_the_notation():
    reply = make_reply([Move("show", (ONE, TWO), "tone")], LEXICON, "adaptive")
    assert reply.notation is not None
    assert reply.n_tokens == 16 * len(reply.notation.split()) == 16 * 5


def test_a_person_may_type_notation_or_words():
    typed = typed_reply(f"maybe tone {ONE} / {TWO} ?", LEXICON)
    assert not isinstance(typed, str) and "would you prefer" in typed.text
    assert typed_reply("how about something for teenagers?", LEXICON) == "how about something for teenagers?"
