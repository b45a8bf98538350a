"""What each card asks its reader to guess first, and what the library computes to compare the guess with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discover_lib.base.words import counted
from discover_lib.core.rules import Rules
from discover_lib.train.grpo.group import group_of
from workbench.lessons.lesson_people import answered, found, talk, tree_of
from workbench.lessons.lesson_rules import GROUP, earned
from workbench.lessons.seeing import STEPPED
from workbench.lessons.trusting import PAIRS, by_length
from workbench.story import PEOPLE
from workbench.views.html import signed

TWO_TREES = "a rabbit in a crown of blossoms, outlined in bold brush, with a surface of printed dots?"  # for STEPPED


@dataclass(frozen=True)
class Happened:
    """What happened: the choice that held, and the numbers in a sentence."""

    choice: str
    sentence: str


@dataclass(frozen=True)
class Prediction:
    """A card's question before anything is seen.

    Attributes:
        happened: plays it, and says which choice held.
        words: terms of the glossary, and assistants, that the question uses.
    """

    question: str
    choices: tuple[str, ...]
    happened: Callable[[], Happened]
    words: tuple[str, ...]


def _asking() -> Happened:
    _, person = PEOPLE[0]
    asked, drafted, explored = (found(talk(person, name)) for name in ("ask", "draft", "adaptive"))
    choice = PREDICTIONS["1"].choices[(asked > 0) + (asked > 2) + (asked > 5)]
    hidden = len(tree_of(person)) - len(tree_of(person).initially_discovered)
    counts = f"{asked} with ask, {drafted} with draft, {explored} with adaptive"
    return Happened(choice, f"Of {hidden} hidden wishes became discovered: {counts}.")


def _two_trees() -> Happened:
    (turn,) = answered(STEPPED, [TWO_TREES]).turns
    roots = [tree_of(STEPPED).root_of[moved.intent_id] for moved in turn.candidate.transitions if moved.moved]
    both, first, _ = PREDICTIONS["2"].choices
    counts = [counted(roots.count(root), "wish", "wishes") for root in ("1", "2")]
    return Happened(
        both if len(set(roots)) > 1 else first,
        f"“{TWO_TREES}” meets wishes of both trees, and moved {counts[0]} of the first and {counts[1]} of the second.",
    )


def _verbose() -> Happened:
    tau = Rules.paper().tau
    verbose, draft = earned("verbose", tau), earned("draft", tau)
    more, same, less, below = PREDICTIONS["3"].choices
    close = abs(verbose - draft) < 0.1
    choice = more if verbose > draft and not close else same if close else less if verbose > 0 else below
    return Happened(choice, f"In five turns with this person verbose earned {signed(verbose)}, draft {signed(draft)}.")


def _length() -> Happened:
    pairs = by_length()
    named = ", ".join(map(str, sorted(pairs)))
    choice = PREDICTIONS["4"].choices[min(len(pairs), 3)]
    return Happened(choice, f"In {len(pairs)} of the {len(PAIRS)} pairs ({named}) both replies discover equally much.")


def _equal_rewards() -> Happened:
    group = group_of([3.0] * GROUP)
    likelier, first, nothing = PREDICTIONS["5"].choices
    advantages = [value or 0.0 for value in group.advantages]
    choice = nothing if not any(advantages) else likelier if min(advantages) > 0 else first
    listed = ", ".join(f"{value:g}" for value in advantages)
    return Happened(choice, f"The advantages are {listed}: no reply is better than its group.")


PREDICTIONS = {
    "1": Prediction(
        "How many of this person’s hidden wishes will the assistant that only asks find in five turns?",
        ("none", "1 or 2", "3 to 5", "more than 5"),
        _asking,
        ("intent", "hidden intent", "turn"),
    ),
    "2": Prediction(
        "A reply meets wishes of two trees at once. What counts?",
        ("both trees", "only the first tree that is not all discovered", "only the tree with more wishes"),
        _two_trees,
        ("intent tree", "engaged", "discovered"),
    ),
    "3": Prediction(
        f"With τ = {Rules.paper().tau:g} free tokens, as in the paper, five replies of verbose to one person earn …",
        ("more than those of draft", "about as much", "less, but above 0", "less than 0"),
        _verbose,
        ("token", "free tokens", "price of a token", "draft", "verbose"),
    ),
    "4": Prediction(
        f"Of {len(PAIRS)} pairs of replies, in how many is the better reply better by its length alone?",
        ("none", "1", "2", "3 or more"),
        _length,
        ("reward", "length penalty"),
    ),
    "5": Prediction(
        f"{GROUP} replies to one prompt earn 3, 3, 3 and 3. What does the update do?",
        ("makes all of them likelier", "makes the first likelier", "nothing at all"),
        _equal_rewards,
        ("GRPO", "reward"),
    ),
}
