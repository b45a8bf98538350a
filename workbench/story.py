"""The story of the page Start: its record, which `static/story.js` plays, its users, and the visitor as the assistant.

The record is plain JSON and has every turn, so a page plays it without a kernel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discover_lib.base.seeds import derive_rng
from discover_lib.base.svg import svg_data_uri
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS, continue_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.builder import Imagined, imagined
from discover_lib.engines.miniature.judge import requirement
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.rendering import typed_reply
from workbench.session import answered
from workbench.views.conversation_parts import level_name, state_glyph
from workbench.views.html import rich_text, static_text

# -- the record of a story ---------------------------------------------------------------------------------------------


Imagine = Callable[[IntentTree, IntentState], Imagined]


@dataclass(frozen=True)
class Part:
    """One assistant of the story: its name, a line about it, and the lesson that holds for every user."""

    key: str
    about: str
    lesson: str = ""


PARTS = (
    Part(
        "ask",
        "asks questions",
        "Its questions show nothing new. The user can answer only with what they can already name.",
    ),
    Part(
        "draft",
        "builds full drafts",
        "Each new draft changes only what the user did not like. So it shows little that is new.",
    ),
    Part(
        "adaptive",
        "shows options or drafts",
        "In {turns}, it showed options, so the user could pick what they had no words for. Its fresh drafts keep only "
        "what the user liked, so they show more that is new.",
    ),
)


def story(tree: IntentTree, parts: Sequence[tuple[Part, Conversation]], imagine: Imagine) -> dict[str, Any]:
    """The whole story of one user; `imagine` says what they can picture in a state."""
    known = dataclasses.replace(parts[0][1].start, discovery=dict.fromkeys(tree.intents, Discovery.DISCOVERED))
    return {
        "request": str(rich_text(tree.initial_request)),
        "wanted": _picture(imagine(tree, known)),
        "glyph": str(state_glyph("undiscovered")),
        "intents": [{"id": key, "text": tree.text(key), "tree": tree.root_of[key]} for key in tree.intents],
        "columns": [column(part, conversation, imagine) for part, conversation in parts],
    }


def column(part: Part, conversation: Conversation, imagine: Imagine) -> dict[str, Any]:
    """One assistant's part of the story: the moment before its first reply and after each."""
    moments = [_moment(conversation, turn, imagine) for turn in (None, *conversation.turns)]
    return {"key": part.key, "about": part.about, "lesson": part.lesson, "moments": moments}


def _moment(conversation: Conversation, turn: Turn | None, imagine: Imagine) -> dict[str, Any]:
    tree = conversation.tree
    state = conversation.state_after(turn.index if turn else 0)
    moved = {} if turn is None else {each.intent_id: each for each in turn.candidate.transitions if each.moved}
    hidden = [key for key in tree.intents if key not in tree.initially_discovered]
    known = sum(key in state.discovered for key in hidden)
    reply = str(rich_text(turn.reply.text)) if turn else ""
    return {
        "reply": reply,
        "options": max(map(reply.count, ("<blockquote", "dl-figure"))) > 1,  # side by side
        "user": str(rich_text(turn.user_message)) if turn and turn.user_message is not None else "",
        "states": {key: level_name(state[key]) for key in tree.intents},
        "moved": list(moved),
        "known": known,
        "of": len(hidden),
        "picture": _picture(imagine(tree, state)),
    }


def _picture(piece: Imagined) -> dict[str, Any]:
    share = piece.known / piece.of if piece.of else 1.0
    return {
        "drawing": svg_data_uri(piece.drawing) if piece.drawing and piece.known else "",
        "lines": list(piece.lines),
        "share": round(share, 3),
    }


# -- the users of a story, and what happens to them --------------------------------------------------------------------

YOU = Part("you", "your replies")
OPTIONS_HINTED = 3
# Drawings and stories in which the three assistants differ as they do on average.
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
        return column(YOU, answered(own), self._imagine(domain)) | {"over": own.conversation.stop is not None}

    def _tree(self, person: int) -> IntentTree:
        domain, index = self.people[person % len(self.people)]
        return engine(domain).builder.build(generate_artifact(domain, "eval", index)).tree

    @staticmethod
    def _imagine(domain: str) -> Imagine:
        return partial(imagined, lexicon=load_lexicon(domain))


def _hints(tree: IntentTree, lexicon: Lexicon, seed: int) -> list[str]:
    """A question and a choice that anyone could put to this person after their request."""
    value = requirement(tree.text(tree.initially_discovered[0]), lexicon.domain)[0]
    dimension = lexicon.dimensions[lexicon.values[value].dimension]
    leaves = [leaf for leaf in dimension.leaves if lexicon.covers(value, leaf) and leaf not in lexicon.additions]
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
    """The method as six rules in Markdown."""
    return static_text("six_rules.md").format(rules=Rules.paper())


WHO_PLAYS = """
Small programs play the user and the assistants. They follow the rules of
[the DiscoverLLM paper](https://arxiv.org/abs/2602.03429) and use no language model. To use one, open the page
*Conversation*, then *Use a language model*, and type its name.

One user proves little. The page *Compare* measures many users.
"""
