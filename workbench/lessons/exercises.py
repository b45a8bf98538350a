"""The twelve exercises of the five lessons, in their order. `check` checks an answer."""

from __future__ import annotations

from typing import Any

from workbench.lessons import lesson_rules as rules
from workbench.lessons import seeing, trusting
from workbench.lessons.exercise import Exercise, Outcome

_EXERCISES = (
    Exercise(
        "rank",
        "Who discovers most?",
        "Twelve other users, five turns each. Order four assistants, best first, by the number of intents that their "
        "replies make *discovered*.",
        "order",
        seeing.rank,
        seeing.RANKED,
        ("ask", "draft", "adaptive", "options"),
    ),
    Exercise(
        "near-misses",
        "How close is close enough?",
        f"An intent is ○ undiscovered. Its threshold θ is {rules.THETA:g}, and one near miss weighs p = 0.25. How many "
        "near misses must one reply have at least to make it ◆ emerging? The sum must be *above* θ.",
        "number",
        rules.near_misses,
        words=("near miss", "near-miss weight", "threshold"),
    ),
    Exercise(
        "two-replies",
        "Two trees, two replies",
        "You see the intents that the assistants do not see. Make all intents of these two trees discovered in two "
        "replies, one per line.",
        "replies",
        seeing.two_replies,
        words=("focus", "frontier"),
    ),
    Exercise(
        "break",
        "Break the simulator",
        "Write one reply for twelve users whom you do not know. Its average reward must be higher than that of "
        "`adaptive`’s first reply.",
        "reply",
        seeing.break_it,
        words=("reward", "adaptive"),
    ),
    Exercise(
        "advance",
        "Write advance",
        "In your own installation, write the function that computes the next state.",
        "code",
        rules.write_advance,
        words=("near miss", "threshold", "satisfied"),
    ),
    Exercise(
        "reward",
        "What is the reward?",
        f"A reply of {rules.N_TOKENS} tokens makes {rules.N_FOUND} intents discovered. τ is 250 and λ is 0.001. What "
        "is its reward R = R_d + R_e?",
        "number",
        rules.worth,
        words=("discovery reward", "length penalty"),
    ),
    Exercise(
        "tau",
        "Let verbose win",
        "What is the smallest τ, in steps of 10, with which `verbose` earns more than `draft` with this user?",
        "number",
        rules.move_tau,
    ),
    Exercise(
        "length",
        "Decided by length?",
        "In each pair the reply with the higher reward is *chosen*. An assistant is trained to prefer it. In which "
        "pairs is it better by its length alone?",
        "several",
        trusting.decided_by_length,
        tuple(f"pair {place}" for place in range(1, len(trusting.PAIRS) + 1)),
        ("chosen", "rejected"),
    ),
    Exercise(
        "leak",
        "Find the leak",
        "“An animal” and “a fox” are ● discovered, the rest is ○ undiscovered. Which messages name an intent "
        "that this user cannot know yet?",
        "several",
        trusting.find_the_leak,
        tuple(f"{place} · {message}" for place, message in enumerate(trusting.MESSAGES, 1)),
        ("leak",),
    ),
    Exercise(
        "users",
        "How many users?",
        f"{trusting.COMPARED} assistants are compared in pairs on the same users. A difference counts if its p-value, "
        "after Holm's correction, is below 5%. What is the smallest number of users with which a difference can count?",
        "number",
        trusting.enough_users,
        words=("p-value", "Holm"),
    ),
    Exercise(
        "grpo",
        "A group that teaches nothing",
        "Four replies all made intents discovered. Set their rewards so that GRPO learns nothing from them.",
        "numbers",
        rules.nothing_learnt,
        words=("advantage",),
    ),
    Exercise(
        "beat",
        "Beat adaptive",
        "Be the assistant. Write five replies, one per line, each at most 30 words. This user asked for an "
        "illustration of an animal. Press Check after every reply to read their answer.",
        "replies",
        seeing.beat,
        words=("adaptive", "oracle"),
    ),
)
EXERCISES = {exercise.key: exercise for exercise in _EXERCISES}


def check(key: str, answer: Any) -> Outcome:
    """The outcome of an exercise's check.

    Raises:
        KeyError: no such exercise.
    """
    return EXERCISES[key].check(answer)
