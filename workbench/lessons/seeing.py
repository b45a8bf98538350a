"""Exercises with the miniature's users: who discovers most, trees one at a time, a reply that fools the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discover_lib.base.words import words
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.rollout import MAX_TURNS
from workbench.lessons.exercise import (
    EVERYBODY,
    MAX_TEXT,
    Outcome,
    answered,
    found,
    judged,
    mean_found,
    talk,
    texts_of,
    tree_of,
    wrong,
)
from workbench.views.touched import touched

RANKED = ("adaptive", "ask", "draft", "options")
STEPPED = 22  # the user of "two replies"
PLAYED = 3  # the user of "beat adaptive"
RIVALS = ("ask", "draft", "adaptive", "oracle")
MOST_WORDS = 30  # of one reply in "beat adaptive"
_LISTS = f"Write replies as lines of text, at most {MAX_TEXT} characters each."


def rank(answer: Any) -> Outcome:
    """The assistants, best first, by the intents that they make discovered on average."""
    order = list(answer) if isinstance(answer, Sequence) and not isinstance(answer, str) else []
    if sorted(map(str, order)) != sorted(RANKED):
        return wrong("Name each of the four assistants exactly once, best first.")
    means = {name: mean_found(name) for name in RANKED}
    right = sorted(RANKED, key=lambda name: -means[name])
    better, worse = next(((one, other) for one, other in zip(right, order, strict=True) if one != other), ("", ""))
    why = {
        "adaptive": "It shows options until an intent is clear, and only then drafts.",
        "draft": "A draft shows one value of every kind, so it can hold a near miss for any tree.",
    }.get(better, "")
    more = f"{better} discovers {means.get(better, 0):.1f}, more than {worse} ({means.get(worse, 0):.1f})"
    hints = {
        "This is worst first. Reverse it.": order == right[::-1],
        f"Asking discovers {means['ask']:g}. Users cannot answer a question about an intent that they cannot name yet. "
        "Look at its row of dots.": order[-1] != "ask",
        f"Over {len(EVERYBODY)} users {more}. {why}".strip(): order != right,
    }
    shown = means if order == right else {}
    return judged(
        f"This is the order over {len(EVERYBODY)} users, in intents discovered in five turns.", hints, **shown
    )


# -- two replies -------------------------------------------------------------------------------------------------------


def two_replies(answer: Any) -> Outcome:
    """Everything of the first two trees in two replies."""
    replies = texts_of(answer)
    if replies is None:
        return wrong(_LISTS)
    if len(replies) != 2:
        return wrong(f"Write exactly two replies, one per line. You wrote {len(replies)}.")
    conversation = answered(STEPPED, replies)
    tree = conversation.tree
    first, second = list(tree.ids_of)[:2]
    wanted = [key for root in (first, second) for key in tree.ids_of[root] if key not in tree.initially_discovered]
    missing = [key for key in wanted if key not in conversation.state.discovered]
    shown = {"discovered": float(len(wanted) - len(missing)), "of": float(len(wanted))}
    if not missing:
        return Outcome(
            True, "One tree per reply, with its broad and narrow intents together. Two replies are enough.", shown
        )
    idle = next((turn for turn in conversation.turns if not turn.candidate.transitions), None)
    whys = {touch.why for touch in touched(conversation, idle).touches if touch.met} if idle else set()
    reply, root = idle.index if idle else 0, tree.root_of[missing[0]]
    hints = {
        f"Reply {reply} matches intents of a tree that is not in focus, so they do not count. Finish the first tree "
        "that still has undiscovered intents.": "elsewhere" in whys,
        f"Reply {reply} names only intents that are discovered. Name undiscovered ones.": bool(whys),
        f"Reply {reply} matches no intent. {_asks_or_means_nothing(idle)}": idle is not None,
        f"Tree {second} has not changed, because the second reply still has to finish tree {root}.": (
            set(missing) >= set(tree.ids_of[second])
        ),
        f"Tree {root} is not finished. {len(missing)} narrow intents are left. A broad word opens the way to a narrow "
        "intent, but does not match it. Name the narrow value.": True,
    }
    return judged("", hints, **shown)


def _asks_or_means_nothing(turn: Turn | None) -> str:
    if turn and "?" in turn.reply.text:
        return "An open question shows no value to recognize. Put values into it to choose from."
    return "The judge of drawings knows no word of it."


# -- break the simulator -----------------------------------------------------------------------------------------------


def break_it(answer: Any) -> Outcome:
    """One reply for unknown users that earns more on average than adaptive's first reply."""
    replies = texts_of(answer)
    if replies is None or len(replies) != 1:
        return wrong(f"Write one reply of at most {MAX_TEXT} characters.")
    turns = [answered(person, replies).turns[0] for person in EVERYBODY]
    rewards = [turn.candidate.reward for turn in turns]
    scored = [reward for reward in rewards if reward is not None]
    mean = sum(reward.total for reward in scored) / len(turns)
    adaptive = [talk(person, "adaptive").turns[0].candidate.reward for person in EVERYBODY]
    bar = sum(reward.total for reward in adaptive if reward is not None) / len(adaptive)
    shown = {"your reply": mean, "adaptive": bar}
    hits = sum(reward.discovered > 0 for reward in scored)
    n_tokens, charged = turns[0].reply.n_tokens, any(reward.penalty for reward in scored)
    right = (
        f"Broken. It earns {mean:.2f} from users it knows nothing about, and adaptive's first reply earns {bar:.2f}. "
        "The judge rewards a reply that names everything, and "
        f"{n_tokens} tokens cost {'little' if charged else 'nothing'}. What would "
        "you change: the judge, τ, or a cap on the values that one reply may name?"
    )
    hints = {
        f"It matches no intent of any user. {_asks_or_means_nothing(turns[0])}": not hits and not any(map(_met, turns)),
        "It names only values that users have asked for already. Go narrower.": not hits,
        f"It fits {hits} of {len(turns)} users. You do not know the user, so which reply fits all of them?": (
            hits <= len(turns) // 4
        ),
        f"It fits {hits} of {len(turns)} users and earns {mean:.2f}. Adaptive's first reply earns {bar:.2f}. Does any "
        "rule stop you from naming more?": True,
    }
    return judged(right, {} if mean > bar else hints, **shown)


def _met(turn: Turn) -> bool:
    evaluation = turn.candidate.evaluation
    return evaluation is not None and any(verdict.engaged for verdict in evaluation.verdicts)


# -- beat adaptive -----------------------------------------------------------------------------------------------------


def beat(answer: Any) -> Outcome:
    """Five replies that discover more with one user than the assistant "adaptive" does."""
    replies = texts_of(answer)
    if replies is None:
        return wrong(_LISTS)
    if not replies:
        return wrong("Write your replies, one per line. Press Check after each to read the answer.")
    long = next((place for place, reply in enumerate(replies, 1) if len(words(reply)) > MOST_WORDS), None)
    if long:
        return wrong(
            f"Reply {long} has more than {MOST_WORDS} words. Naming everything breaks the simulator and helps no user. "
            "Offer a few values."
        )
    conversation = answered(PLAYED, replies)
    scores = {name: float(found(talk(PLAYED, name))) for name in RIVALS}
    yours, adaptive = found(conversation), scores["adaptive"]
    shown = {"ask": scores["ask"], "draft": scores["draft"], "adaptive": adaptive, "you": float(yours)}
    shown["oracle"] = scores["oracle"]
    if yours > adaptive:
        return Outcome(
            True,
            f"You discovered {yours}, adaptive {adaptive:g}, and the oracle, which sees the tree, {scores['oracle']:g} "
            f"of {len(tree_of(PLAYED)) - len(conversation.tree.initially_discovered)}.",
            shown,
        )
    if conversation.stop is None and len(replies) < MAX_TURNS:
        left = MAX_TURNS - len(replies)
        return Outcome(False, f"{yours} discovered so far, {left} more to write. {_last_answer(conversation)}", shown)
    idle = [turn for turn in conversation.turns if not turn.candidate.transitions]
    elsewhere = sum(
        any(touch.why == "elsewhere" and touch.met for touch in touched(conversation, turn).touches) for turn in idle
    )
    hints = {
        f"You discovered {yours}. {elsewhere} of your replies matched an intent of another tree than the one in focus, "
        "and that does not count. First the subject of the drawing, then the other trees in their order.": elsewhere
        > 0,
        "You discovered 0. Offer values to choose from instead of open questions or one guess.": (
            len(idle) == len(conversation.turns)
        ),
        f"A draw. You and adaptive discovered {yours} each. One more is needed.": yours == adaptive,
        f"You discovered {yours}, adaptive {adaptive:g}. {len(idle)} of your replies changed no state. Offer three "
        "values of one kind at a time, and continue from the answer.": True,
    }
    return judged("", hints, **shown)


def _last_answer(conversation: Conversation) -> str:
    said = conversation.turns[-1].user_message
    return f"They say: “{said}”" if said else ""
