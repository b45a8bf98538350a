"""The miniature's judge and scorer: programs that read what a reply shows or names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean

from discover_lib.core.advance import walk
from discover_lib.core.conversation import Conversation, Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import JudgeError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import (
    ReplyReading,
    UserReading,
    read_reply,
    read_user,
    varied,
    wholes_and_samples,
)
from discover_lib.metrics.satisfaction import LeafScore
from discover_lib.metrics.scorer import InteractivityRating, ScoreError, TurnBehaviour


class MiniatureJudge:
    """Judges replies of one domain by parsing what they show (paper, appendix A.2.1).

    An intent is met by an option that shows all its values or more specific ones.  A near miss shows a sibling in
    place of one value and everything else that the intent asks for; part of an intent alone is nothing.
    """

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.lexicon = load_lexicon(domain)

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        reading = read_reply(reply.text, self.domain)

        def decide(intent: Intent) -> Verdict:
            return judge_intent(intent, requirement(intent.text, self.domain), reading.options, self.lexicon)

        return Evaluation(reading.kind, walk(tree, state, rules, decide), reading.kind_reason)

    def undecidable(self, tree: IntentTree) -> str:
        """The first intent in words that the miniature does not know, with the reason; "" if it can judge the tree."""
        for intent in tree.intents.values():
            try:
                requirement(intent.text, self.domain)
            except JudgeError as error:
                return f"intent {intent.id!r}: {error}"
        return ""


@lru_cache(maxsize=16384)
def requirement(text: str, domain: str) -> tuple[str, ...]:
    """The values that a requirement text asks for: one of the lexicon's own texts, or the cues in a text of yours.

    Raises:
        JudgeError: nothing in the text that the lexicon knows.
    """
    lexicon = load_lexicon(domain)
    own = lexicon.value_of_text(text)
    asked = (own,) if own else tuple(lexicon.find_cues(text, talk=True))
    if not asked:
        raise JudgeError(
            f"the miniature cannot decide {text!r}: it names nothing that the {domain} lexicon knows; "
            "reword it with words of the lexicon, or let a language model judge"
        )
    return asked


def known_values(text: str, domain: str) -> tuple[str, ...]:
    """`requirement`, or nothing of one that was written by hand in words of its own."""
    try:
        return requirement(text, domain)
    except JudgeError:
        return ()


def judge_intent(
    intent: Intent, needed: tuple[str, ...], options: Sequence[Mapping[str, str]], lexicon: Lexicon
) -> Verdict:
    """The verdict on one intent.  Any one option is enough."""
    near: dict[str, str] = {}
    for option in options:
        met = {need: shown for need in needed if (shown := _shown_for(need, option, lexicon)) is not None}
        if len(met) == len(needed):
            return Verdict(intent.id, True, (), "; ".join(option[shown] for shown in met.values()))
        for miss, why in _near_misses(needed, met, option, lexicon):
            near.setdefault(miss, why)
    if near:
        return Verdict(intent.id, False, tuple(near), "not this, but close: " + "; ".join(near.values()))
    return Verdict(intent.id, False, (), "nothing of this in the reply")


def _shown_for(need: str, option: Mapping[str, str], lexicon: Lexicon) -> str | None:
    return next((shown for shown in option if need in lexicon.lineages[shown]), None)


def _near_misses(
    needed: tuple[str, ...], met: Mapping[str, str], option: Mapping[str, str], lexicon: Lexicon
) -> list[tuple[str, str]]:
    """Alternatives to the one missing value, as specific as it, with the evidence."""
    missing = [need for need in needed if need not in met]
    if len(missing) != 1:
        return []
    siblings = {sibling: _shown_for(sibling, option, lexicon) for sibling in lexicon.siblings[missing[0]]}
    return [(lexicon.values[sibling].text, option[shown]) for sibling, shown in siblings.items() if shown is not None]


MET, NEAR, TOUCHED, ABSENT = 5, 3, 2, 1


class MiniatureScorer:
    """Scores conversations of one domain by reading them."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.lexicon = load_lexicon(domain)
        self.name = "miniature counterpart"

    def satisfaction(self, tree: IntentTree, reply: Reply) -> tuple[LeafScore, ...]:
        """Every leaf by the distance, in the taxonomy, of what the artifact shows from what is asked.

        5: shown, or something more specific. 3: a sibling is shown, so only the broader requirement is met.
        2: the dimension shows another value. 1: it shows none.  4 does not occur: a reading knows no small blemish.
        Of a requirement for several values the mean of its parts counts, rounded down, and at most 3 unless all are
        shown.  Of several artifacts in the reply the one that shows most is graded.
        """
        reading = read_reply(reply.text, self.domain)
        made = reading.options if reading.kind == "artifact" else ()
        piece = max(made, key=len, default={})
        return tuple(self._leaf_score(tree, leaf, piece, bool(made)) for leaf in tree.leaves())

    def _leaf_score(self, tree: IntentTree, leaf: str, piece: Mapping[str, str], made: bool) -> LeafScore:
        try:
            needed = requirement(tree.text(leaf), self.domain)
        except JudgeError as error:
            raise ScoreError(str(error)) from error
        scores, reasons = zip(*(graded_value(need, piece, self.lexicon) for need in needed), strict=True)
        score = MET if min(scores) == MET else min(NEAR, int(fmean(scores)))
        return LeafScore(leaf, score, "; ".join(reasons) if made else "nothing was made")

    def interactivity(self, conversation: Conversation) -> InteractivityRating:
        """The mean over turns of 1, 2 or 3: one point, and one each for opening up and for taking up.

        A turn opens up if it asks, or offers at least two alternatives.  It takes up the user's last message if it
        shows or names the value that the user asked for, asks about its dimension (for a broad value), or deals with
        the aspect that the user doubted.  After any other message, it must offer something that is not agreed yet.
        """
        ratings = []
        agreed: set[str] = set()  # dimensions that the user has settled
        said, values = conversation.tree.initial_request, self.lexicon.values
        for turn in conversation.turns:
            heard, reading = read_user(said, self.domain), read_reply(turn.reply.text, self.domain)
            agreed |= {values[value].dimension for value in (*heard.liked, *heard.wanted) if values[value].is_leaf}
            ratings.append(1 + opens_up(reading) + self._takes_up(heard, reading, agreed))
            said = turn.user_message or ""
        shares = ", ".join(f"{ratings.count(each)} turns at {each}" for each in (3, 2, 1) if each in ratings)
        return InteractivityRating(fmean(ratings), f"computed: {shares}")

    def _takes_up(self, heard: UserReading, reading: ReplyReading, agreed: set[str]) -> bool:
        values, asked = self.lexicon.values, set(reading.dimensions_asked)
        shown = {value for option in reading.options for value in option}
        if heard.wanted:
            broad = {values[wish].dimension for wish in heard.wanted if not values[wish].is_leaf}
            met = any(self.lexicon.covers(wish, value) for wish in heard.wanted for value in shown)
            return met or bool(broad & asked)
        if heard.doubted:
            return bool(set(heard.doubted) & asked.union(varied(reading.options, self.lexicon)))
        return bool(({values[value].dimension for value in shown} | asked) - agreed)

    def behaviour(self, conversation: Conversation) -> tuple[TurnBehaviour, ...]:
        """Divergent where alternatives or questions make up most of a turn, convergent where one artifact does."""
        return tuple(
            behaviour_of(turn.index, read_reply(turn.reply.text, self.domain), self.lexicon)
            for turn in conversation.turns
        )


def graded_value(need: str, piece: Mapping[str, str], lexicon: Lexicon) -> tuple[int, str]:
    """(1 to 5, why) for one value asked of one artifact; see `MiniatureScorer.satisfaction`."""
    dimension = lexicon.values[need].dimension
    there = [value for value in piece if lexicon.values[value].dimension == dimension]
    for wanted, score, said in ((need, MET, ""), *((sibling, NEAR, "close: ") for sibling in lexicon.siblings[need])):
        if (shown := _shown_for(wanted, piece, lexicon)) is not None:
            return score, said + piece[shown]
    if there:
        return TOUCHED, f"another one: {piece[there[0]]}"
    return ABSENT, f"nothing about {lexicon.dimensions[dimension].aspect}"


def opens_up(reading: ReplyReading) -> bool:
    """Whether a reply asks, or offers at least two alternatives."""
    return len(reading.options) > 1 or bool(reading.dimensions_asked)


def behaviour_of(turn: int, reading: ReplyReading, lexicon: Lexicon) -> TurnBehaviour:
    """What a reply mainly does; between a whole artifact and samples beside it, whichever shows more values decides."""
    wholes, samples = wholes_and_samples(reading.options, lexicon)
    if reading.kind == "dialogue_act":
        if opens_up(reading):
            return TurnBehaviour(turn, "divergent", "it asks or names options")
        said = "it goes through one version" if reading.options else "it neither offers nor makes anything"
        return TurnBehaviour(turn, "convergent" if reading.options else None, said)
    if len(reading.options) == 1:
        return TurnBehaviour(turn, "convergent", "one piece")
    if len(wholes) == 1 and len(wholes[0]) > sum(map(len, samples)):
        return TurnBehaviour(turn, "convergent", f"a whole piece, and {len(samples)} smaller samples beside it")
    return TurnBehaviour(turn, "divergent", f"{len(reading.options)} pieces to choose from")
