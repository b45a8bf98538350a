"""The twelve exercises of the five lessons, in their order; `check` is the one way to have an answer checked."""

from __future__ import annotations

from typing import Any

from workbench.lessons import lesson_rules as rules
from workbench.lessons import seeing, trusting
from workbench.lessons.exercise import Exercise, Outcome

_EXERCISES = (
    Exercise(
        "rank",
        "Who finds most?",
        "Twelve other people, five turns each. Put four assistants in order, best first: whose replies make most "
        "wishes *discovered*?",
        "order",
        seeing.rank,
        seeing.RANKED,
        ("ask", "draft", "adaptive", "options"),
    ),
    Exercise(
        "near-misses",
        "How close is close enough?",
        f"A wish is ○ undiscovered, its threshold θ is {rules.THETA:g}, and one near miss weighs p = 0.25. How many "
        "near misses must one reply hold, at least, to make it ◆ emerging? It has to get *past* θ.",
        "number",
        rules.near_misses,
        words=("near miss", "near-miss weight", "threshold"),
    ),
    Exercise(
        "two-replies",
        "Two trees, two replies",
        "You see what the assistants do not. Make everything of these two trees discovered in two replies, one a line.",
        "replies",
        seeing.two_replies,
        words=("focus", "frontier"),
    ),
    Exercise(
        "break",
        "Break the simulator",
        "Write one reply, without knowing whom it is for, that earns more on average from twelve people than the first "
        "reply of `adaptive` does.",
        "reply",
        seeing.break_it,
        words=("reward", "adaptive"),
    ),
    Exercise(
        "advance",
        "Write advance",
        "In your own installation: write the function that goes from one state to the next.",
        "code",
        rules.write_advance,
        words=("near miss", "threshold", "satisfied"),
    ),
    Exercise(
        "reward",
        "What is it worth?",
        f"A reply of {rules.N_TOKENS} tokens makes {rules.N_FOUND} wishes discovered. τ is 250 and λ 0.001. Its reward "
        "R = R_d + R_e?",
        "number",
        rules.worth,
        words=("discovery reward", "length penalty"),
    ),
    Exercise(
        "tau",
        "Let verbose win",
        "From how many free tokens τ on, in steps of 10, does `verbose` earn more than `draft` with this person?",
        "number",
        rules.move_tau,
    ),
    Exercise(
        "length",
        "Decided by length?",
        "In each pair the reply with the higher reward is *chosen*: what an assistant will be trained to prefer. In "
        "which pairs is it better by its length alone?",
        "several",
        trusting.decided_by_length,
        tuple(f"pair {place}" for place in range(1, len(trusting.PAIRS) + 1)),
        ("chosen", "rejected"),
    ),
    Exercise(
        "leak",
        "Find the leak",
        "“An animal” and “a fox” are ● discovered, the rest is ○ undiscovered. Which messages say what this user "
        "cannot know yet?",
        "several",
        trusting.find_the_leak,
        tuple(f"{place} · {message}" for place, message in enumerate(trusting.MESSAGES, 1)),
        ("leak",),
    ),
    Exercise(
        "users",
        "How many users?",
        f"{trusting.COMPARED} assistants are compared in pairs on the same users. A difference counts where its "
        "p-value, after Holm's correction, is below 5 %. What is the least number of users with which any could?",
        "number",
        trusting.enough_users,
        words=("p-value", "Holm"),
    ),
    Exercise(
        "grpo",
        "A group that teaches nothing",
        "Set the rewards of four replies, all of which found something, so that GRPO learns nothing from them.",
        "numbers",
        rules.nothing_learnt,
        words=("advantage",),
    ),
    Exercise(
        "beat",
        "Beat adaptive",
        "Be the assistant: five replies, one a line, each at most 30 words. This person asked for an illustration of "
        "an animal. Check after every reply to read their answer.",
        "replies",
        seeing.beat,
        words=("adaptive", "oracle"),
    ),
)
EXERCISES = {exercise.key: exercise for exercise in _EXERCISES}


def check(key: str, answer: Any) -> Outcome:
    """What an exercise's check says of an answer.

    Raises:
        KeyError: no such exercise.
    """
    return EXERCISES[key].check(answer)
