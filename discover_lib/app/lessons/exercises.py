"""The twelve exercises of the five lessons, in their order; `check` is the one way to have an answer checked."""

from __future__ import annotations

from typing import Any

from discover_lib.app.lessons import rules, seeing, trusting
from discover_lib.app.lessons.exercise import Exercise, Outcome

_EXERCISES = (
    Exercise(
        "rank",
        "Who finds most?",
        "Twelve people, five turns each. Put four assistants in order: who makes most wishes known? adaptive is who "
        "explores above; options offers choices in words and never draws.",
        "order",
        seeing.rank,
        seeing.RANKED,
    ),
    Exercise(
        "near-misses",
        "How close is close enough?",
        f"A wish is still fog, its threshold θ is {rules.THETA:g}, and one near miss weighs 0.25. How many near misses "
        "must one reply hold, at least, to turn it into a hunch?",
        "number",
        rules.near_misses,
    ),
    Exercise(
        "two-replies",
        "Two trees, two replies",
        "You see the wishes, the assistants do not. Make everything of trees 1 and 2 known in two replies, one a line.",
        "replies",
        seeing.two_replies,
    ),
    Exercise(
        "break",
        "Break the simulator",
        "Write one reply, without knowing whom it is for, that earns more on average from twelve people than the first "
        "reply of adaptive does.",
        "reply",
        seeing.break_it,
    ),
    Exercise(
        "advance",
        "Write advance",
        "In your own installation: write the function that goes from one state to the next.",
        "code",
        rules.write_advance,
    ),
    Exercise(
        "reward",
        "What is it worth?",
        f"A reply of {rules.N_TOKENS} tokens makes {rules.N_FOUND} wishes known. τ is 250 and λ 0.001. Its reward?",
        "number",
        rules.worth,
    ),
    Exercise(
        "tau",
        "Let verbose win",
        "verbose drafts, and then says it all twice. From how many free tokens τ on, in steps of 10, does it earn more "
        "than draft with this person?",
        "number",
        rules.move_tau,
    ),
    Exercise(
        "leak",
        "Find the leak",
        "The user knows ● “an animal” and ● “a fox”. Which messages say what they cannot know yet?",
        "several",
        trusting.find_the_leak,
        tuple(f"{place} · {message}" for place, message in enumerate(trusting.MESSAGES, 1)),
    ),
    Exercise(
        "length",
        "Decided by length?",
        "In each pair the reply with the higher reward is what an assistant will be trained to prefer. In which pairs "
        "is it better by its length alone?",
        "several",
        trusting.decided_by_length,
        tuple(f"pair {place}" for place in range(1, len(trusting.PAIRS) + 1)),
    ),
    Exercise(
        "users",
        "How many users?",
        f"{trusting.COMPARED} assistants, compared in pairs on the same users, at 5 % after Holm's correction. What is "
        "the least number of users with which any difference could show?",
        "number",
        trusting.enough_users,
    ),
    Exercise(
        "grpo",
        "A group that teaches nothing",
        "Set the rewards of four replies, all of which found something, so that GRPO learns nothing from them.",
        "numbers",
        rules.nothing_learnt,
    ),
    Exercise(
        "beat",
        "Beat adaptive",
        "Be the assistant: five replies, one a line, each at most 30 words. This person asked for an illustration of "
        "an animal. Check after every reply to read their answer.",
        "replies",
        seeing.beat,
    ),
)
EXERCISES = {exercise.key: exercise for exercise in _EXERCISES}


def check(key: str, answer: Any) -> Outcome:
    """What an exercise's check says of an answer.

    Raises:
        KeyError: no such exercise.
    """
    return EXERCISES[key].check(answer)
