"""Playing the person: a target seen for a moment, two assistants whose names are hidden, and what each let one find."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.conversation import Artifact, Conversation, Message, Reply
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.people import Chat, scored_afterwards
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, joined, rich_text, table, tag

ASSISTANTS = ("ask", "draft", "options", "adaptive")  # whom one may meet
LOOK_SECONDS = 6
TURNS = 5


@dataclass(frozen=True)
class Game:
    """A target and two conversations about it, the second begun when the first is over.

    Attributes:
        person: which target, and which two assistants in which order.
        chats: messages and replies so far, of the first and the second assistant.
    """

    domain: str
    person: int
    turns: int = TURNS
    chats: tuple[tuple[tuple[str, Reply], ...], ...] = ((), ())

    @cached_property
    def target(self) -> Artifact:
        return generate_artifact(self.domain, "eval", self.person % SPLIT_SIZES["eval"])

    @cached_property
    def assistants(self) -> tuple[str, str]:
        """Who is behind the first and the second."""
        first, second = derive_rng(self.domain, self.person, "blind").sample(ASSISTANTS, 2)
        return first, second

    @property
    def place(self) -> int | None:
        """0 with the first assistant, 1 with the second, None when both are done."""
        return next((place for place, chat in enumerate(self.chats) if len(chat) < self.turns), None)

    def say(self, text: str) -> Game:
        """The game after a message and the reply to it.

        Raises:
            ValueError: both conversations are over, or there is nothing to say.
        """
        place, text = self.place, text.strip()
        if place is None or not text:
            raise ValueError("both conversations are over" if place is None else "a message has words")
        chat = self.chats[place]
        messages = [message for said, reply in chat for message in (Message("user", said), reply.message)]
        assistant = scripted_assistant(self.assistants[place], self.domain)
        seed = derive_seed(self.domain, self.person, place, len(chat))
        reply = assistant.reply([*messages, Message("user", text)], seed)  # type: ignore[union-attr]
        chats = list(self.chats)
        chats[place] = (*chat, (text, reply))
        return dataclasses.replace(self, chats=tuple(chats))

    def conversations(self) -> list[Conversation]:
        """Both conversations against the tree of the target, once they are over."""
        engines, artifact = RoleEngines(EngineSpec()), self.target
        return [
            scored_afterwards(
                Chat(
                    id=artifact.id,
                    assistant=name,
                    messages=tuple(said for said, _ in chat),
                    replies=tuple(reply for _, reply in chat),
                    text=artifact.text,
                    artifact_type=artifact.type,
                    domain=self.domain,
                ),
                engines,
                Rules.paper(),
            )
            for name, chat in zip(self.assistants, self.chats, strict=True)
        ]


# -- views -------------------------------------------------------------------------------------------------------------


def glimpse(artifact: Artifact, seconds: float = LOOK_SECONDS) -> Markup:
    """The target, which fades by itself; nothing has to be pressed in time."""
    fades = f"overflow: hidden; max-height: 900px; animation: gone .6s {seconds:g}s forwards"
    rule = "@keyframes gone { 90% { opacity: 0; max-height: 900px; } to { visibility: hidden; max-height: 0; } }"
    return tag("style", rule) + tag("div", show.artifact(artifact), style=fades)


def talk_so_far(game: Game) -> Markup:
    """The conversation that is going on; who answers is not told."""
    place = game.place
    if place is None:
        return EMPTY
    rows = [
        bubble
        for said, reply in game.chats[place]
        for bubble in (show.bubble("user", rich_text(said)), show.bubble("assistant", rich_text(reply.text)))
    ]
    told = f"Assistant {place + 1} of 2 · message {len(game.chats[place]) + 1} of {game.turns}"
    return tag("div", show.quiet(told), *rows, class_="dl-chat")


def found_by(conversation: Conversation) -> Markup:
    """Turn by turn what came to light, and what in the reply showed it."""
    rows = []
    for turn in conversation.turns:
        reasons = {}
        if turn.candidate.evaluation:
            reasons = {verdict.intent_id: verdict.reason for verdict in turn.candidate.evaluation.verdicts}
        for moved in turn.candidate.transitions:
            if turn.after[moved.intent_id] is not turn.before[moved.intent_id]:
                state = "found" if turn.after[moved.intent_id] is Discovery.DISCOVERED else "nearly"
                why = reasons.get(moved.intent_id, "")
                rows.append(
                    (str(turn.index), tag("span", state, class_="dl-num"), conversation.tree.text(moved.intent_id), why)
                )
    if not rows:
        return show.quiet("No reply showed anything of the target that was not known.")
    return table(("turn", "", "wish", "because"), rows)


def outcome(conversations: list[Conversation]) -> Markup:
    """Both conversations side by side: who it was, the tree of the target, and what each reply found."""
    panels = []
    for place, conversation in enumerate(conversations, 1):
        tree, last = conversation.tree, conversation.turns[-1]
        own, known = len(conversation.start.discovered), len(conversation.state.discovered)
        told = f"You named {own} of {len(tree)} wishes yourself; its replies showed {known - own} of the others."
        outline = show.outline(tree, conversation.state, conversation.rules, (), last.focus)
        title = f"Assistant {place} was {last.reply.assistant}"
        panels.append(show.panel(title, tag("p", told), outline, found_by(conversation)))
    first, second = (len(each.state.discovered) - len(each.start.discovered) for each in conversations)
    names = [each.turns[-1].reply.assistant for each in conversations]
    more = "As many with both." if first == second else f"{names[first < second]} showed {abs(first - second)} more."
    note = "One person and one target are an anecdote; a study needs many of both."
    return joined([show.notice(f"{more} {note}"), show.state_legend(), show.beside(*panels)])
