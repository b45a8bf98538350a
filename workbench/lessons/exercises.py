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
        "Each assistant talks with twelve other users for five turns. Which one makes the most intents *discovered*? "
        "Put the four in order, the best first.",
        "order",
        checks.rank,
        checks.RANKED,
        ("ask", "draft", "adaptive", "options"),
    ),
    Exercise(
        "near-misses",
        "How close is close enough?",
        f"An intent is ○ undiscovered, with the threshold θ = {checks.THETA:g}. Each near miss in a reply adds "
        "p = 0.25 to a sum. If the sum is *above* θ, the intent becomes ◆ emerging. How many near misses does one "
        "reply need?",
        "number",
        checks.near_misses,
        words=("near miss", "near-miss weight", "threshold"),
    ),
    Exercise(
        "two-replies",
        "Two trees, two replies",
        "Now you are the assistant, and you can see the intents. Write two replies, one per line. After them, all "
        "intents of both trees must be discovered.",
        "replies",
        checks.two_replies,
        words=("focus", "frontier"),
    ),
    Exercise(
        "break",
        "Break the simulator",
        "Write one reply. Twelve users whom you do not know will read it. Its average reward must be higher than the "
        "average reward of the first reply of `adaptive`.",
        "reply",
        checks.break_it,
        words=("reward", "adaptive"),
    ),
    Exercise(
        "reward",
        "What is the reward?",
        f"A reply of {checks.N_TOKENS} tokens makes {checks.N_FOUND} intents discovered. τ = 250 tokens are free. Each "
        "further token costs λ = 0.001. What is the reward R = R_d + R_e?",
        "number",
        checks.worth,
        words=("discovery reward", "length penalty"),
    ),
    Exercise(
        "tau",
        "Let verbose win",
        "τ is the number of free tokens. Move it in steps of 10. What is the smallest τ at which `verbose` earns more "
        "than `draft`?",
        "number",
        checks.move_tau,
    ),
    Exercise(
        "length",
        "Decided by length?",
        "Each pair has two replies to the same message. The reply with the higher reward is *chosen*, and an assistant "
        "is trained to prefer it. In which pairs is the chosen reply only shorter, and not better in any other way?",
        "several",
        checks.decided_by_length,
        tuple(f"pair {place}" for place in range(1, len(checks.PAIRS) + 1)),
        ("chosen", "rejected"),
    ),
    Exercise(
        "leak",
        "Find the leak",
        "This user knows two intents, “an animal” and “a fox”. They are ● discovered, and the rest is ○ undiscovered. "
        "Which messages name an intent that the user cannot know yet?",
        "several",
        checks.find_the_leak,
        tuple(f"{place} · {message}" for place, message in enumerate(checks.MESSAGES, 1)),
        ("leak",),
    ),
    Exercise(
        "grpo",
        "A group that teaches nothing",
        "Four replies to one prompt are all good. Set their rewards so that GRPO still learns nothing from them.",
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
    return (choice, f"The user has {hidden} hidden intents. Discovered in five turns: {counts}.")


def _two_trees() -> tuple[str, str]:
    (turn,) = answered(STEPPED, [TWO_TREES]).turns
    roots = [tree_of(STEPPED).root_of[moved.intent_id] for moved in turn.candidate.transitions if moved.moved]
    both, first, _ = CARDS["2"].choices
    counts = [counted(roots.count(root), "intent") for root in ("1", "2")]
    return (
        both if len(set(roots)) > 1 else first,
        f"The reply “{TWO_TREES}” matches intents of both trees. "
        f"It changed {counts[0]} of the first, {counts[1]} of the second.",
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
        f"In {len(pairs)} of the {len(PAIRS)} pairs ({named}) both replies discover the same number of intents. "
        "So only their length decides.",
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
        f"A user writes *“{tree_of(PEOPLE[0][1]).initial_request}”* to three assistants. `ask` asks questions, `draft` "
        "makes drafts, and `adaptive` shows options and then drafts. The user also has hidden intents, which they "
        "cannot name yet.",
        "The assistant ask only asks questions. How many of the hidden intents does it discover in five turns?",
        ("none", "1 or 2", "3 to 5", "more than 5"),
        _asking,
        ("intent", "hidden intent", "turn"),
        "Why does asking discover no intent here? Answer in one sentence.",
        "Users can only answer with intents that they know. But they recognize an option when they see it. Even a near "
        "miss can make an undiscovered intent emerging.",
    ),
    "2": CardText(
        "The next step shows the hidden intents of one user. Assistants never see them. Intents form trees: a broad "
        "intent is above its narrow ones. A tree is finished when all its intents are discovered.",
        "A reply matches intents of two trees at once. In which tree can intents become discovered?",
        ("in both trees", "only in the first unfinished tree", "only in the tree with more intents"),
        _two_trees,
        ("intent tree", "engaged", "discovered"),
        "Only one tree counts at a time. When is this rule right, and when is it wrong?",
        "It is right for people who think about one thing at a time. It is wrong for people who recognize an intent "
        "wherever it turns up. The authors’ code has another rule. The page Conversation shows what it changes.",
    ),
    "3": CardText(
        f"A reply earns 1 for each intent that it makes discovered. Its first τ = {Rules.paper().tau:g} tokens are "
        "free, as in the paper. Each further token costs λ. The whole length penalty of a reply is at most 1.",
        "Two assistants, draft and verbose, each write five replies to one user. How much does verbose earn in total?",
        ("more than draft", "about as much as draft", "less than draft, but above 0", "less than 0"),
        _verbose,
        ("token", "free tokens", "draft", "verbose"),
        "What would assistants learn if length were free? Answer in one sentence.",
        "They would learn to say everything every time. Each further sentence may match an intent, and it costs "
        "nothing. Even with the penalty a long list can pay, because the penalty is at most 1.",
    ),
    "4": CardText(
        "Two things can go wrong. A simulated user can reveal intents that they do not know yet. And of two replies, "
        "the one with the higher reward can be only *shorter*, not better.",
        f"You will see {len(PAIRS)} pairs of replies. In how many does the winner win only because it is shorter?",
        ("none", "1", "2", "3 or more"),
        _length,
        ("reward", "length penalty"),
        "Which of the two would you check first in a new simulator: leaks, or pairs that length decides? Why?",
        "Leaks first. If the user names an undiscovered intent, the assistant only has to repeat it. Then no later "
        "number measures discovery. The page Trust finds leaks. The page Data finds pairs that length decides.",
    ),
    "5": CardText(
        "GRPO trains an assistant on groups. A group is several replies to the same prompt. An update makes a reply "
        "likelier if it earns more than the mean of its group.",
        f"{GROUP} replies to one prompt earn 3, 3, 3 and 3. What does the update do?",
        ("makes all of them likelier", "makes the first likelier", "nothing at all"),
        _equal_rewards,
        ("GRPO", "reward"),
        "All replies of a group only ask questions, and none discovers an intent. What does a model learn from them?",
        "Nothing, because all replies earn the same, so all advantages are 0. A model learns to show options only if "
        "some replies of a group show options and others do not.",
    ),
}
