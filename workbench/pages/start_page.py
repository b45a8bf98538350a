"""The page Start after its story: be the user of two assistants whose names are hidden, with a target seen briefly."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.conversation import Artifact, Conversation, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Verdict
from discover_lib.engines.miniature import engine, lexicon
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.judge import judge_intent, requirement
from discover_lib.engines.miniature.reading import read_reply
from workbench.carried import kept
from workbench.map import IntentMap, MapMoment
from workbench.sources import domain_label
from workbench.story import PEOPLE as PEOPLE
from workbench.story import WHO_PLAYS, six_rules
from workbench.story import story_widget as story_widget
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, rich_text, tag
from workbench.views.moments import brief

ASSISTANTS = ("ask", "draft", "options", "adaptive")  # whom one may meet
LOOK_SECONDS = 6
TURNS = 5
DOMAINS = {domain_label(each): each for each in lexicon.DOMAINS}

# -- before the game ---------------------------------------------------------------------------------------------------


def person_asked() -> int:
    """The user that the page's address asks for."""
    import marimo as mo

    asked = mo.query_params().get("person") or "0"
    return int(asked) if asked.isdecimal() else 0


def explanations() -> dict[str, Any]:
    """Texts to unfold: the rules, and who plays the user."""
    import marimo as mo

    return {"The six rules": mo.md(six_rules()), "Who plays the user?": mo.md(WHO_PLAYS)}


def game_menus() -> tuple[Any, Any]:
    """The kind of target and the number of the target."""
    import marimo as mo

    return (
        kept(mo.ui.dropdown, "domain", DOMAINS, value="SVG drawing", label="Kind of goal"),
        kept(mo.ui.slider, "target", 0, 99, value=7, label="Goal number", show_value=True),
    )


# -- the game ---------------------------------------------------------------------------------------------------------


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
        """Both conversations, judged against the tree of the target once they are over.

        An intent that the visitor named before any reply showed it counts as known from the start.
        """
        world = engine(self.domain)
        tree = world.builder.build(self.target).tree
        talks = []
        for name, chat in zip(self.assistants, self.chats, strict=True):
            own = _named_first(chat, tree, self.domain)
            told = dataclasses.replace(tree, initial_request=chat[0][0], initially_discovered=own)
            user = UserSimulator(told, world.judge, world.voice, seed=derive_seed(0, self.target.id))
            for _, reply in chat:
                if user.conversation.stop is None:
                    user.step(dataclasses.replace(reply, assistant=name), speak=False)
            talks.append(user.conversation)
        return talks


def _verdicts(text: str, tree: IntentTree, domain: str) -> list[Verdict]:
    """The judge's verdict on every intent, also on those that are not in focus."""
    options, words = read_reply(text, domain).options, lexicon.load_lexicon(domain)
    return [judge_intent(intent, requirement(intent.text, domain), options, words) for intent in tree.intents.values()]


def _named_first(chat: Sequence[tuple[str, Reply]], tree: IntentTree, domain: str) -> tuple[str, ...]:
    """Intents that the visitor named before any reply showed them, and the broader ones above them."""
    own: set[str] = set()
    shown: set[str] = set()
    for said, reply in chat:
        said_met, reply_met = (
            {each.intent_id for each in _verdicts(text, tree, domain) if each.engaged} for text in (said, reply.text)
        )
        own |= said_met - shown
        shown |= reply_met
    with_broader = _with_broader(tree, own)
    return tuple(key for key in tree.intents if key in with_broader)


# -- why each sentence counted or did not ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence:
    """What a message of the visitor named of the target.

    Attributes:
        named: the most specific intents that its words name.
        near: intents of the same kind with another value → the value that the words name.
    """

    text: str
    named: tuple[str, ...]
    near: Mapping[str, str]

    def why(self, tree: IntentTree) -> str:
        """Why it counted or did not, in words."""
        if self.named:
            return "Yes: “" + "”, “".join(map(tree.text, self.named)) + "”."
        if self.near:
            pairs = [f"“{said}” is not “{tree.text(key)}”" for key, said in self.near.items()]
            return "No, a near miss: " + "; ".join(pairs) + "."
        return "No: it names nothing in the goal."


def sentences(game: Game, place: int, tree: IntentTree) -> list[Sentence]:
    """What each message to an assistant named, as the judge reads it against every intent."""
    found: list[Sentence] = []
    for said, _ in game.chats[place]:
        verdicts = _verdicts(said, tree, game.domain)
        met = {each.intent_id for each in verdicts if each.engaged}
        named = tuple(
            key for key in tree.intents if key in met and not any(each.id in met for each in tree[key].children)
        )
        near = {each.intent_id: each.near_misses[0] for each in verdicts if each.near_misses}
        leaves = {key: value for key, value in near.items() if key in tree.leaves()}
        found.append(Sentence(said, named, leaves or near))
    return found


# -- the page ----------------------------------------------------------------------------------------------------------


class Sitting:
    """A game that is being played: the form for a message, and both conversations.

    Args:
        played: called after every message.
    """

    def __init__(self, game: Game, played: Callable[[], Any]) -> None:
        import marimo as mo

        self.game, self._played = game, played
        message = mo.ui.text_area(label="Ask for it in your own words", max_length=600, rows=2, full_width=True)
        self.form = message.form(
            submit_button_label="Send",
            clear_on_submit=True,
            validate=lambda text: None if (text or "").strip() else "Write a message first.",
            on_change=self._say,
        )

    def _say(self, text: str | None) -> None:
        if text and self.game.place is not None:
            self.game = self.game.say(text)
            self._played()

    def view(self) -> Any:
        """The conversations so far, whose assistants have no names, and the form below the open one."""
        import marimo as mo

        columns = []
        for place, chat in enumerate(self.game.chats[: 1 if self.game.place == 0 else 2]):
            now = place == self.game.place
            told = f"message {len(chat) + 1} of {self.game.turns}" if now else "finished"
            rows = [
                bubble
                for said, reply in chat
                for bubble in (show.bubble("user", rich_text(said)), show.bubble("assistant", rich_text(reply.text)))
            ]
            talk = show.panel(f"Assistant {place + 1}: {told}", tag("div", *rows, class_="dl-chat"), latest=True)
            columns.append(mo.vstack([mo.Html(show.styled(talk)), *([self.form] if now else [])]))
        return mo.hstack(columns, widths="equal", wrap=True)


async def look(game: Game, seconds: int = LOOK_SECONDS) -> None:
    """Show the target over the whole window with a countdown, then take it away."""
    import marimo as mo

    for left in range(seconds, 0, -1):
        clock = tag("p", f"Remember this. {left} s left.", class_="bu-clock", role="status")
        mo.output.replace(mo.Html(show.styled(tag("div", clock, show.artifact(game.target), class_="bu-look"))))
        await asyncio.sleep(1)
    mo.output.replace(mo.md(""))


def reveal(game: Game) -> Any:
    """The end: the target, the pictures from both assistants, and why each sentence counted or did not."""
    import marimo as mo

    conversations = game.conversations()
    tree = conversations[0].tree
    target = show.panel("The goal", show.artifact(game.target))
    films = [_film(place, game) for place in range(2)]
    told = [sentences(game, place, tree) for place in range(2)]
    named = {key for each in (*told[0], *told[1]) for key in _with_broader(tree, each.named)}
    given = {key for each in conversations for key in each.state.discovered} - named
    words = mo.md(
        f"**You saw the whole goal, with its {len(tree)} intents, and you named {len(named)} of them.** The replies "
        f"showed you {len(given)} more. One game proves little. To play again, choose another goal above."
    )
    rows = [
        (f"assistant {place + 1}", tag("q", each.text), each.why(tree)) for place in range(2) for each in told[place]
    ]
    table = show.table(("To", "You wrote", "Did it count?"), rows)
    top = mo.Html(show.styled(tag("div", target, *films, class_="bu-top")))
    return mo.vstack([words, top, mo.Html(show.styled(table))])


def _with_broader(tree: IntentTree, keys: Iterable[str]) -> set[str]:
    """Intents and the broader ones above them."""
    found = set()
    for key in keys:
        above: str | None = key
        while above is not None:
            found.add(above)
            above = tree.parents[above]
    return found


def _film(place: int, game: Game) -> Markup:
    """The replies of one assistant as pictures, or as their first words."""
    frames = [
        tag("li", tag("b", str(number)), brief(reply.text)) for number, (_, reply) in enumerate(game.chats[place], 1)
    ]
    head = f"Assistant {place + 1} ({'AB'[place]} on the map) was {game.assistants[place]}"
    return show.panel(head, tag("ol", *frames, class_="bu-film"))


def target_map(game: Game) -> IntentMap:
    """The intents of the target: A and B mark the intents discovered with the two assistants.

    A selected intent tells in which message you named it, or which reply showed it.
    """
    first, second = game.conversations()
    tree = dataclasses.replace(first.tree, initially_discovered=())
    reasons = dict.fromkeys(tree.intents, "You did not name it, and no reply showed it.")
    said = [(place, number, each) for place in range(2) for number, each in enumerate(sentences(game, place, tree), 1)]
    for place, number, each in said:
        for key, value in each.near.items():
            reasons[key] = f"Near miss in message {number} to assistant {place + 1}: you named “{value}”."
    for conversation in (first, second):
        for turn in conversation.turns:
            moved = [each.intent_id for each in turn.candidate.transitions if each.moved]
            reasons |= dict.fromkeys(moved, f"Reply {turn.index} of {turn.reply.assistant} showed it.")
    for place, number, each in said:
        named = _with_broader(tree, each.named)
        reasons |= dict.fromkeys(named, f"You named it to assistant {place + 1} in message {number}.")
    return IntentMap(tree, [MapMoment(first.state, reasons=reasons)], beside=second.state)
