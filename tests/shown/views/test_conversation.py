"""A conversation as HTML, as pairs and as plain text: receipts add up, and no text of a model runs."""

import dataclasses
import json
import re
from dataclasses import replace

import pytest
from hostile import HOSTILE, HOSTILE_SVG, SVG, TREE, Tags, conversation

from discover_lib import IntentTree, Rules, replay
from discover_lib.core.conversation import Artifact, Candidate, Conversation, Reply
from discover_lib.core.roles import Recognised
from discover_lib.dataset.preview import QWEN
from discover_lib.dataset.rows import Origin, examples, labelled_turns
from discover_lib.metrics.transcript import COLUMNS, transcript
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit
from workbench.views import conversation_parts as show
from workbench.views import pair_parts as show_pairs


def numbers(receipt: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf'data-{name}="([^"]*)"', receipt)]


@pytest.mark.parametrize("rules", [Rules.paper(), Rules.authors(), Rules.paper().replace(p=0.1, lam=0.00037, tau=3)])
def test_receipt_adds_up_to_the_reward(rules: Rules) -> None:
    again = replay(conversation(), rules)
    for turn in again.turns:
        receipt = show.receipt(TREE, turn, rules)
        discovered, penalty, total = numbers(receipt, "sum")
        assert sum(numbers(receipt, "share")) == pytest.approx(discovered)
        assert discovered + penalty == pytest.approx(total) == pytest.approx(turn.candidate.reward.total)
        assert rules.name in receipt


def test_unscored_reply_is_an_error_line_never_a_zero() -> None:
    turn = conversation().turns[0]
    failed = Candidate(Reply("x", 1, "test"), None, turn.before, error="judge: <no> verdict")
    fragment = show.receipt(TREE, turn, Rules.paper(), failed)
    assert "judge: &lt;no&gt; verdict" in fragment and "+0" not in fragment


def test_light_markdown() -> None:
    text = "# Title\nFirst **bold** and *soft*\nsecond line\n\n3. three\n4. four `code`\n- dot\n\n2 * 3 * 4 and a_b_c"
    shown = show.rich_text(text)
    assert "<h4>Title</h4>" in shown
    assert "<p>First <strong>bold</strong> and <em>soft</em><br>second line</p>" in shown
    assert '<ol start="3"><li>three</li><li>four <code>code</code></li></ol><ul><li>dot</li></ul>' in shown
    assert "2 * 3 * 4 and a_b_c" in shown
    assert "<blockquote><h4>T</h4><p>a</p></blockquote><p>b</p>" in show.rich_text("> # T\n>\n> a\n\nb")
    assert show.rich_text(">" * 50_000 + " deep").count("<blockquote>") == 1


def test_a_link_or_an_image_of_a_model_stays_text() -> None:
    text = "[x](http://a.example) ![i](http://a.example/i.png) <http://a.example>\n\n[x]: http://b.example"
    shown = show.rich_text(text)
    assert {name for name, _ in Tags(shown).tags} == {"div", "p"}
    assert "![i](http://a.example/i.png) &lt;http://a.example&gt;" in shown and "[x]: http://b.example" in shown


def test_drawings_stand_where_they_were_said() -> None:
    text = f"Two:\n\nA. Rings.\n```svg\n{SVG}\n```\n**B.** Discs <b>\n{SVG}\nWhich?\n```python\nx < 1\n```"
    shown = show.rich_text(text)
    assert shown.count('class="dl-drawings"') == 1 and shown.count("data:image/svg+xml;base64,") == 2
    assert "<figcaption>A. Rings.</figcaption>" in shown and 'alt="Drawing: A. Rings."' in shown
    assert "<figcaption><strong>B.</strong> Discs &lt;b&gt;</figcaption>" in shown
    assert "<pre>x &lt; 1</pre>" in shown
    assert shown.index("Two:") < shown.index("A. Rings") < shown.index("Which?")


@pytest.mark.parametrize(
    "text", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG, "```svg\n<svg onload=1>", "A. <svg\n"]
)
def test_hostile_text_becomes_no_element(text: str) -> None:
    allowed = {"div", "p", "pre", "br", "h4", "img", "figure", "figcaption", "details", "summary"}
    for name, attributes in Tags(show.rich_text(text)).tags:
        assert name in allowed
        assert not any(key.startswith("on") for key in attributes)
        assert (attributes.get("src") or "data:").startswith("data:")


def test_every_fragment_is_escaped_and_nests() -> None:
    nasty = HOSTILE[0] + HOSTILE[1]
    evil = json.loads(json.dumps(TREE.to_dict()).replace('"A boat"', json.dumps(nasty)))
    hostile = conversation((nasty, nasty + "2"), nasty, IntentTree.from_dict(evil))
    turn, tree, rules = hostile.turns[0], hostile.tree, dataclasses.replace(hostile.rules, name=nasty)
    fragments = (
        show.chat(hostile), show.receipt(tree, turn, rules), show.outline(tree, turn.after),
        show.artifact(Artifact("1", nasty, nasty, nasty)), show.error_line(nasty),
        show.panel(nasty, show.beside(show.table([nasty], [[nasty]], nasty)), latest=True),
        show.recognised([Recognised(nasty, nasty, nasty)]),
    )  # fmt: skip
    for fragment in fragments:
        assert "<script" not in fragment and "<img src=x" not in fragment
        Tags(fragment)
    assert all(tag != "script" for tag, _ in Tags(show.styled(*fragments)).tags)


def test_the_outline_marks_the_state_of_every_intent() -> None:
    shown = show.outline(TREE, conversation().turns[0].after)
    assert [data["data-id"] for tag, data in Tags(shown).tags if tag == "li"] == list(TREE.intents)
    levels = [data["data-state"] for tag, data in Tags(shown).tags if tag == "svg"]
    assert levels == ["discovered", "discovered", "emerging", "undiscovered", "undiscovered"]


def test_half_a_character_in_a_reply_blanks_no_page() -> None:
    shown = show.styled(show.tag("p", "a boat \ud83d", title="\ud83d\ude00"))
    assert shown.encode() and "a boat \ufffd" in shown and '"😀"' in shown


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
    assert "the length penalty alone decides this label" in said
    free = Rules.paper().replace(lam=0.0)
    assert first_turn(unequal(), free).startswith("A tie")
    alone = list(labelled_turns(conversation()))[1]
    assert show_pairs.why(alone, Rules.paper()) == "No label: only one candidate, so there is no preference."


@pytest.mark.parametrize("text", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```"])
def test_nothing_unsafe_gets_through(text: str) -> None:
    talk = dataclasses.replace(conversation((text, "second"), said=text), stop="max_turns")
    labelled = next(labelled_turns(talk))
    (row,) = examples("sft", [talk], ORIGIN)
    parts = [show_pairs.pair(talk, labelled, talk.rules), show_pairs.loss(QWEN.sequences(row.train))]
    for name, attributes in Tags("".join(parts)).tags:
        assert name != "script" and not any(key.startswith("on") for key in attributes)


DRAWN = "Here you are.\n\n```svg\n<svg viewBox='0 0 9 9'><title>A fox</title><path d='M0 0'/></svg>\n```"


@pytest.fixture(scope="module", params=["svg_drawing", "creative_writing"])
def talk(request: pytest.FixtureRequest) -> Conversation:
    return run_unit(lay_out(RunOptions(("adaptive",), domain=request.param, artifacts=1, seed=1)).units[0])


def test_what_was_said_found_and_earned_stands_there_in_order(talk: Conversation) -> None:
    lines = list(transcript(talk))
    assert max(map(len, lines)) <= COLUMNS
    text = " ".join(" ".join(lines).split())
    at = 0
    for turn in talk.turns:
        moved = [each for each in turn.candidate.transitions if each.moved]
        assert turn.candidate.reward
        for part in (
            f"turn {turn.index} assistant ",
            *(f"* {each.intent_id} ({talk.tree.text(each.intent_id)}): " for each in moved),
            f"reward {turn.candidate.reward.total:+.3f} ",
            *([f"user {' '.join(turn.user_message.split())}"] if turn.user_message else []),
        ):
            assert (at := text.find(part, at) + 1), part
    assert "<svg" not in text and "```" not in text


def test_a_drawing_is_its_title_and_prose_keeps_its_words(talk: Conversation) -> None:
    first = talk.turns[0]
    candidate = replace(first.candidate, reply=Reply(DRAWN, 9, "words"), transitions=(), reward=None, error="judge: no")
    (_, *lines) = transcript(
        replace(talk, turns=(replace(first, candidates=(candidate,), chosen=0, user_message=None),))
    )
    assert lines == [
        "", "turn 1", "assistant  Here you are.", "           [a drawing: A fox, 65 characters of SVG]",
        "           = no change; unscored: judge: no",
    ]  # fmt: skip
