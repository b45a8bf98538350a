"""HTML fragments and the demo page: receipts add up, nothing unsafe gets through, everything needed is inside."""

import dataclasses
import json
import re

import pytest
from hostile import HOSTILE, HOSTILE_SVG, SVG, TREE, Tags, conversation

from discover_lib import IntentTree, Reply, Rules, replay
from discover_lib.core.conversation import Artifact, Candidate
from discover_lib.core.roles import Recognised
from workbench.views import conversation_parts as show


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
        show.chat(hostile),
        show.receipt(tree, turn, rules),
        show.outline(tree, turn.after),
        show.artifact(Artifact("1", nasty, nasty, nasty)),
        show.error_line(nasty),
        show.panel(nasty, show.beside(show.table([nasty], [[nasty]], nasty)), latest=True),
        show.recognised([Recognised(nasty, nasty, nasty)]),
    )
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
