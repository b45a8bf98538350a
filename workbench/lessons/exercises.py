"""The five lessons: their nine exercises in order, and the guess of each card with its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discover_lib.base.words import counted
from discover_lib.core.rules import Rules
from discover_lib.metrics.summary import newly_discovered as found
from discover_lib.train.grpo import group_of
from workbench.lessons import checks
from workbench.lessons.checks import GROUP, PAIRS, STEPPED, by_length, earned
from workbench.lessons.exercise import Exercise, answered, talk, tree_of
from workbench.story import PEOPLE
from workbench.views.html import signed

_EXERCISES = (
    Exercise(
        "rank",
        "Who discovers most?",
        "Twelve other users, five turns each. Order four assistants, best first, by the number of intents that their "
        "replies make *discovered*.",
        "order",
        checks.rank,
        checks.RANKED,
        ("ask", "draft", "adaptive", "options"),
    ),
    Exercise(
        "near-misses",
        "How close is close enough?",
        f"An intent is ○ undiscovered. Its threshold θ is {checks.THETA:g}, and one near miss weighs p = 0.25. How "
        "many near misses must one reply have at least to make it ◆ emerging? The sum must be *above* θ.",
        "number",
        checks.near_misses,
        words=("near miss", "near-miss weight", "threshold"),
    ),
    Exercise(
        "two-replies",
        "Two trees, two replies",
        "You see the intents that the assistants do not see. Make all intents of these two trees discovered in two "
        "replies, one per line.",
        "replies",
        checks.two_replies,
        words=("focus", "frontier"),
    ),
    Exercise(
        "break",
        "Break the simulator",
        "Write one reply for twelve users whom you do not know. Its average reward must be higher than that of "
        "`adaptive`’s first reply.",
        "reply",
        checks.break_it,
        words=("reward", "adaptive"),
    ),
    Exercise(
        "reward",
        "What is the reward?",
        f"A reply of {checks.N_TOKENS} tokens makes {checks.N_FOUND} intents discovered. τ is 250 and λ is 0.001. What "
        "is its reward R = R_d + R_e?",
        "number",
        checks.worth,
        words=("discovery reward", "length penalty"),
    ),
    Exercise(
        "tau",
        "Let verbose win",
        "What is the smallest τ, in steps of 10, with which `verbose` earns more than `draft` with this user?",
        "number",
        checks.move_tau,
    ),
    Exercise(
        "length",
        "Decided by length?",
        "In each pair the reply with the higher reward is *chosen*. An assistant is trained to prefer it. In which "
        "pairs is it better by its length alone?",
        "several",
        checks.decided_by_length,
        tuple(f"pair {place}" for place in range(1, len(checks.PAIRS) + 1)),
        ("chosen", "rejected"),
    ),
    Exercise(
        "leak",
        "Find the leak",
        "“An animal” and “a fox” are ● discovered, the rest is ○ undiscovered. Which messages name an intent "
        "that this user cannot know yet?",
        "several",
        checks.find_the_leak,
        tuple(f"{place} · {message}" for place, message in enumerate(checks.MESSAGES, 1)),
        ("leak",),
    ),
    Exercise(
        "grpo",
        "A group that teaches nothing",
        "Four replies all made intents discovered. Set their rewards so that GRPO learns nothing from them.",
        "numbers",
        checks.nothing_learnt,
        words=("advantage",),
    ),
)
EXERCISES = {exercise.key: exercise for exercise in _EXERCISES}


# -- the guess of each card --------------------------------------------------------------------------------------------

TWO_TREES = "a rabbit in a crown of blossoms, outlined in bold brush, with a surface of printed dots?"  # for STEPPED


@dataclass(frozen=True)
class CardText:
    """The words of a lesson's card.

    Attributes:
        about: its subject, before the guess.
        happened: plays the conversations, and returns the right choice and the numbers in a sentence.
        words: terms of the glossary, and assistants, that the question uses.
        why: the question of the last step.
        ours: the lesson's answer to it.
    """

    about: str
    question: str
    choices: tuple[str, ...]
    happened: Callable[[], tuple[str, str]]
    words: tuple[str, ...]
    why: str
    ours: str


def _asking() -> tuple[str, str]:
    _, person = PEOPLE[0]
    asked, drafted, explored = (found(talk(person, name)) for name in ("ask", "draft", "adaptive"))
    choice = CARDS["1"].choices[(asked > 0) + (asked > 2) + (asked > 5)]
    hidden = len(tree_of(person)) - len(tree_of(person).initially_discovered)
    counts = f"{asked} with ask, {drafted} with draft, {explored} with adaptive"
    return (choice, f"Of {hidden} hidden intents became discovered: {counts}.")


def _two_trees() -> tuple[str, str]:
    (turn,) = answered(STEPPED, [TWO_TREES]).turns
    roots = [tree_of(STEPPED).root_of[moved.intent_id] for moved in turn.candidate.transitions if moved.moved]
    both, first, _ = CARDS["2"].choices
    counts = [counted(roots.count(root), "intent") for root in ("1", "2")]
    return (
        both if len(set(roots)) > 1 else first,
        f"“{TWO_TREES}” matches intents of both trees. It changed {counts[0]} of the first, {counts[1]} of the second.",
    )


def _verbose() -> tuple[str, str]:
    tau = Rules.paper().tau
    verbose, draft = earned("verbose", tau), earned("draft", tau)
    more, same, less, below = CARDS["3"].choices
    close = abs(verbose - draft) < 0.1
    choice = more if verbose > draft and not close else same if close else less if verbose > 0 else below
    return (choice, f"In five turns with this user verbose earned {signed(verbose)} and draft {signed(draft)}.")


def _length() -> tuple[str, str]:
    pairs = by_length()
    named = ", ".join(map(str, sorted(pairs)))
    choice = CARDS["4"].choices[min(len(pairs), 3)]
    return (
        choice,
        f"In {len(pairs)} of the {len(PAIRS)} pairs ({named}) both replies discover the same number of intents.",
    )


def _equal_rewards() -> tuple[str, str]:
    group = group_of([3.0] * GROUP)
    likelier, first, nothing = CARDS["5"].choices
    advantages = [value or 0.0 for value in group.advantages]
    choice = nothing if not any(advantages) else likelier if min(advantages) > 0 else first
    listed = ", ".join(f"{value:g}" for value in advantages)
    return (choice, f"The advantages are {listed}: no reply is better than its group.")


CARDS = {
    "1": CardText(
        f"One user and three assistants. `ask` asks questions, `draft` makes drafts, and `adaptive` shows options and "
        f"then drafts. The user writes *“{tree_of(PEOPLE[0][1]).initial_request}”*. They also have hidden intents that "
        "they cannot name yet.",
        "How many of this user’s hidden intents will the assistant that only asks discover in five turns?",
        ("none", "1 or 2", "3 to 5", "more than 5"),
        _asking,
        ("intent", "hidden intent", "turn"),
        "Why does asking discover no intent here? Answer in one sentence.",
        "Users can answer a question only from the intents that they know. They can recognize an option that they see. "
        "Even a near miss can make an undiscovered intent emerging.",
    ),
    "2": CardText(
        "The next step shows what the assistants never see: the hidden intents of one user. They form trees, with the "
        "broad intent above the narrow ones.",
        "A reply matches intents of two trees at once. What counts?",
        ("both trees", "only the first tree that is not all discovered", "only the tree with more intents"),
        _two_trees,
        ("intent tree", "engaged", "discovered"),
        "Why might it be right that only one tree counts at a time? And when is it wrong?",
        "People think about one thing at a time, so their intents emerge where they look. The rule is wrong for people "
        "who recognize an intent wherever it turns up. The authors’ released code has another focus. The page "
        "Conversation shows what changes.",
    ),
    "3": CardText(
        "Every intent that a reply makes discovered earns 1. Every token beyond τ costs λ. The whole length penalty is "
        "at most 1.",
        f"With τ = {Rules.paper().tau:g} free tokens, as in the paper, five replies of verbose to one user earn …",
        ("more than those of draft", "about as much", "less, but above 0", "less than 0"),
        _verbose,
        ("token", "free tokens", "draft", "verbose"),
        "What would assistants learn if length were free? Answer in one sentence.",
        "They would learn to say everything every time. Each further sentence may match an intent, and it costs "
        "nothing. The penalty is at most 1, so a long reply that discovers two intents beats a short one that "
        "discovers none.",
    ),
    "4": CardText(
        "A simulated user can say too much. A label can mean only *shorter*.",
        f"Of {len(PAIRS)} pairs of replies, in how many is the better reply better by its length alone?",
        ("none", "1", "2", "3 or more"),
        _length,
        ("reward", "length penalty"),
        "Which of the two would you look for first in a new simulator, and why?",
        "Leaks first. If the user names an intent that they cannot know, every later number measures reading instead "
        "of discovery. Then labels that length decides. The page Trust finds leaks, the page Data such labels.",
    ),
    "5": CardText(
        "GRPO samples several replies to one prompt, and makes some of them likelier.",
        f"{GROUP} replies to one prompt earn 3, 3, 3 and 3. What does the update do?",
        ("makes all of them likelier", "makes the first likelier", "nothing at all"),
        _equal_rewards,
        ("GRPO", "reward"),
        "A group of replies asks, and every user answers politely. What does a model learn from it?",
        "Nothing, if all replies earn the same. A model learns to show options only if some replies of a group show "
        "them and others do not. Otherwise all advantages are 0.",
    ),
}
