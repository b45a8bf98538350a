"""The story of the page Start with a kernel: more users, and the visitor as the assistant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from discover_lib.base.seeds import derive_rng
from discover_lib.core.advance import advance, initial_state
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rollout import MAX_TURNS, continue_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Evaluation, IntentState, Transition, Verdict
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.builder import Imagined, imagined
from discover_lib.engines.miniature.judge import requirement
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.notation import TOKENS_PER_WORD
from discover_lib.engines.miniature.rendering import typed_reply
from discover_lib.metrics.discovery import ceiling
from discover_lib.metrics.intervals import bootstrap_difference, bootstrap_mean
from workbench.session import answered
from workbench.views.columns import PARTS, Averages, Part, column, story
from workbench.views.html import static_text

YOU = Part("you", "you reply", "your replies", "They are judged like the other replies.")
OPTIONS_HINTED = 3
# Drawings and stories in which the three assistants differ as they do on average (`averages`).
PEOPLE = (("svg_drawing", 17), ("svg_drawing", 22), ("creative_writing", 8), ("svg_drawing", 3))


class StoryTeller:
    """The people of a story and what happens to each of them.

    Args:
        people: a domain and the number of an evaluation artifact each; they are met in this order, then again.
    """

    def __init__(self, people: Sequence[tuple[str, int]]) -> None:
        self.people = tuple(people)
        self._met: tuple[int, UserSimulator] | None = None  # whom the visitor replies to

    def tell(self, person: int) -> dict[str, Any]:
        """The record of a person's story (`views.story.story`), with what a visitor might say to them."""
        domain, index = self.people[person % len(self.people)]
        tree = self._tree(person)
        self._met = None
        record = story(tree, [(part, self.conversation(part, person)) for part in PARTS], self._imagine(domain))
        return record | {"hints": _hints(tree, load_lexicon(domain), index)}

    def conversation(self, part: Part, person: int) -> Conversation:
        """The conversation of one assistant with a user, who answers the last reply, too."""
        domain, index = self.people[person % len(self.people)]
        world = engine(domain)
        user = UserSimulator(self._tree(person), world.judge, world.voice, seed=index)
        continue_conversation(user, [scripted_assistant(part.key, domain)])
        return answered(user)

    def reply(self, text: str, person: int) -> dict[str, Any]:
        """Have the visitor reply to a person; their part of the story so far, `over` when it has ended."""
        domain, index = self.people[person % len(self.people)]
        if self._met is None or self._met[0] != person:
            world = engine(domain)
            user = UserSimulator(self._tree(person), world.judge, world.voice, seed=index, turns=MAX_TURNS)
            self._met = person, user
        own = self._met[1]
        if own.conversation.stop is None:
            own.step(typed_reply(text, load_lexicon(domain), own.conversation.tree.initial_request))
        told = column(YOU, answered(own), self._imagine(domain))
        return told | {"over": own.conversation.stop is not None}

    def _tree(self, person: int) -> IntentTree:
        domain, index = self.people[person % len(self.people)]
        return engine(domain).builder.build(generate_artifact(domain, "eval", index)).tree

    @staticmethod
    def _imagine(domain: str) -> Any:
        lexicon = load_lexicon(domain)

        def imagine(tree: IntentTree, state: IntentState) -> Imagined:
            return imagined(tree, state, lexicon)

        return imagine


@cache  # the same for everybody who opens the page, and a second and a half of work
def averages(domain: str, people: int) -> Averages:
    """What the assistants of the story find of the hidden intents of other people, with 95% intervals over these."""
    teller = StoryTeller([(domain, index) for index in range(people)])
    told = {part.name: [teller.conversation(part, index) for index in range(people)] for part in PARTS}
    shares = {
        name: {str(index): [_share(conversation)] for index, conversation in enumerate(conversations)}
        for name, conversations in told.items()
    }
    *_, second, first = shares
    ceilings = [ceiling(conversation.tree, turns=MAX_TURNS) for conversation in told[first]]
    return Averages(
        {name: bootstrap_mean(values) for name, values in shares.items()},
        bootstrap_difference(shares[first], shares[second]),
        sum(ceilings) / len(ceilings),
    )


def _share(conversation: Conversation) -> float:
    tree = conversation.tree
    hidden = [key for key in tree.intents if key not in tree.initially_discovered]
    return sum(key in conversation.state.discovered for key in hidden) / len(hidden)


def near_misses_on_one_wish(theta: float) -> Callable[[int], Transition]:
    """What a number of near misses do to an undiscovered wish of this threshold, under the paper's rules."""
    wish = Intent("1.1", "a fox")
    tree = IntentTree("SVG drawing", "animal", "an animal", ("1",), (Intent("1", "an animal", (wish,)),))
    start = initial_state(tree, thresholds={wish.id: theta})

    def outcome(count: int) -> Transition:
        near = tuple(f"another animal, {number}" for number in range(count))
        evaluation = Evaluation("artifact", (Verdict(wish.id, False, near),))
        return advance(tree, start, evaluation, Rules.paper())[1][0]

    return outcome


def _hints(tree: IntentTree, lexicon: Lexicon, seed: int) -> list[str]:
    """A question and a choice that anyone could put to this person after their request."""
    value = requirement(tree.text(tree.initially_discovered[0]), lexicon.domain)[0]
    dimension = lexicon.dimensions[lexicon.values[value].dimension]
    leaves = [leaf for leaf in dimension.leaves if lexicon.covers(value, leaf)]
    chosen = derive_rng(seed, "hint").sample(leaves, min(OPTIONS_HINTED, len(leaves)))
    says = [lexicon.values[leaf].say for leaf in chosen]
    return [f"What do you have in mind for {dimension.aspect}?", f"How about {', '.join(says[:-1])} or {says[-1]}?"]


def story_widget(people: Sequence[tuple[str, int]], person: int = 0, *, suspense: bool = False) -> Any:
    """The story as a widget; `person` counts the people met, `mine` is the visitor's own part.

    Args:
        suspense: what each assistant found in the end is told at the end only.
    """
    import anywidget
    import traitlets

    teller = StoryTeller(people)

    class Story(anywidget.AnyWidget):
        _esm = static_text("story.js")
        _css = static_text("workbench.css") + static_text("story.css")
        story = traitlets.Dict().tag(sync=True)
        mine = traitlets.Dict().tag(sync=True)
        person = traitlets.Int(0).tag(sync=True)
        sent = traitlets.Dict().tag(sync=True)
        suspense = traitlets.Bool(False).tag(sync=True)

    return answering(Story(story=teller.tell(person), person=person, suspense=suspense), teller)


def answering(widget: Any, teller: StoryTeller) -> Any:
    """The widget, with the teller behind it: another `person` is met, and what is `sent` to them is answered."""

    def meet(change: Mapping[str, Any]) -> None:
        with widget.hold_sync():  # both at once: a part of one person's story never stands beside another's
            widget.mine = {}
            widget.story = teller.tell(change["new"])

    def answer(change: Mapping[str, Any]) -> None:
        if text := str(change["new"].get("text", "")).strip():
            widget.mine = teller.reply(text, widget.person)

    widget.observe(meet, "person")
    widget.observe(answer, "sent")
    return widget


# -- what the first page says, in the notebook and on the site ---------------------------------------------------------


def six_rules() -> str:
    """The method as six rules in Markdown, with computed numbers."""
    rules, wish = Rules.paper(), near_misses_on_one_wish(theta=0.4)
    two, one = wish(2), wish(1)
    return static_text("six_rules.md").format(rules=rules, two=two, one=one)


WHAT_IT_IS = f"""
**This is the miniature.** Programs play the user, the judge and the assistants with a small vocabulary. There are
eight kinds of
artifacts and no language model. Every conversation is computed. The judge reads the drawing or the text itself. States
and rewards follow [the paper](https://arxiv.org/abs/2602.03429). A language model can play any role: on *Conversation*,
open *Roles* and type a model's name. A hosted model needs its key in the environment.

Three choices are our own. Scripted assistants write a short language, and each of its words counts as
{TOKENS_PER_WORD} tokens. An intent that was discovered earlier can still be satisfied. If two rewards are equal, the
shorter reply wins.
"""
