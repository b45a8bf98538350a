"""The first page's story with a kernel behind it: other people to meet, and the visitor as the assistant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discover_lib.base.seeds import derive_rng
from discover_lib.core.advance import advance, initial_state
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rollout import MAX_TURNS, run_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Evaluation, IntentState, Transition, Verdict
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.imagined import Imagined, imagined
from discover_lib.engines.miniature.judge import requirement
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.rendering import typed_reply
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.views.html import static_text
from discover_lib.views.story import PARTS, Part, column, story

YOU = Part("you", "you reply", "your replies, judged as the others are")
OPTIONS_HINTED = 3


class StoryTeller:
    """The people of a story and what happens to each of them.

    Args:
        people: a domain and the number of an evaluation artifact each; they are met in this order, then again.
    """

    def __init__(self, people: Sequence[tuple[str, int]]) -> None:
        self.people = tuple(people)
        self._own: UserSimulator | None = None

    def tell(self, person: int) -> dict[str, Any]:
        """The record of a person's story (`views.story.story`), with what a visitor might say to them."""
        domain, index = self.people[person % len(self.people)]
        tree, world = self._tree(person), engine(domain)
        self._own = UserSimulator(tree, world.judge, world.voice, seed=index, turns=MAX_TURNS)
        record = story(tree, [(part, self.conversation(part, person)) for part in PARTS], self._imagine(domain))
        return record | {"hints": _hints(tree, load_lexicon(domain), index)}

    def conversation(self, part: Part, person: int) -> Conversation:
        """The conversation of one assistant with a person."""
        domain, index = self.people[person % len(self.people)]
        world = engine(domain)
        assistants = [scripted_assistant(part.key, domain)]
        return run_conversation(self._tree(person), world.judge, world.voice, assistants, seed=index)

    def reply(self, text: str, person: int) -> dict[str, Any]:
        """Have the visitor reply to a person; their part of the story so far, `over` when it has ended."""
        domain, _ = self.people[person % len(self.people)]
        assert self._own is not None, "a person is met before they are spoken to"
        if self._own.conversation.stop is None:
            self._own.step(typed_reply(text, load_lexicon(domain)))
        told = column(YOU, self._own.conversation, self._imagine(domain))
        return told | {"over": self._own.conversation.stop is not None}

    def _tree(self, person: int) -> IntentTree:
        domain, index = self.people[person % len(self.people)]
        return engine(domain).builder.build(generate_artifact(domain, "eval", index)).tree

    @staticmethod
    def _imagine(domain: str) -> Any:
        lexicon = load_lexicon(domain)

        def imagine(tree: IntentTree, state: IntentState) -> Imagined:
            return imagined(tree, state, lexicon)

        return imagine


def averages(domain: str, people: int) -> dict[str, Estimate]:
    """Share of the hidden intents that each assistant of the story finds, with its 95 % interval over other people."""
    teller = StoryTeller([(domain, index) for index in range(people)])
    return {
        part.name: bootstrap_mean({str(index): [_share(teller.conversation(part, index))] for index in range(people)})
        for part in PARTS
    }


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


def story_widget(people: Sequence[tuple[str, int]], person: int = 0) -> Any:
    """The story as a widget; `person` counts the people met, `mine` is the visitor's own part."""
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

    return answering(Story(story=teller.tell(person), person=person), teller)


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
