"""Exercises on trust: a user who says too much, pairs that length decides, and the users that a verdict needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discover_lib.base.leak_words import find_leaks, giving_away
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import Reward
from discover_lib.metrics.paired import SIGNIFICANCE, holm, permutation_p
from workbench.lessons.exercise import Outcome, judged, number_of, numbers_of, talk, wrong
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, signed, table, tag

# A user who knows two intents, an animal and a fox. Below are messages of this user, one of each kind.
USER = IntentTree.from_dict(
    {
        "artifact_type": "drawing",
        "topic": "fox",
        "initial_request": "draw me an animal",
        "initially_discovered": ["1", "1.1"],
        "roots": [
            {
                "id": "1",
                "text": "Shows an animal",
                "children": [
                    {
                        "id": "1.1",
                        "text": "Shows a fox",
                        "children": [{"id": "1.1.1", "text": "Shows a fox asleep in the snow"}],
                    }
                ],
            },
            {"id": "2", "text": "Keeps to warm tones", "children": [{"id": "2.1", "text": "Keeps to tones of rust"}]},
        ],
    }
)
ASSISTANT_SAID = "Would you like an owl with glasses, or a fox?"
MESSAGES = (
    "the fox, please. the rest i can't put into words",
    "a fox, but this one is too lively, i'd rather see it sleeping somewhere snowy",
    "an owl with glasses made me smile, but no",
    "something is missing and i don't know what",
    "closer! could it have more rust in it?",
    "is it me, or is the drawing somehow crowded?",
)
# Pairs of replies by draft and adaptive: (user, turn).
PAIRS = ((0, 2), (5, 1), (2, 5), (1, 4), (2, 2), (0, 3))
COMPARED = 4  # assistants in "enough users"
_NUMBERS = "Pick by number, from 1 to 6."


def _picked(answer: Any, of: Sequence[Any]) -> set[int] | None:
    numbers = numbers_of(answer)
    if numbers is None or not all(number == int(number) and 1 <= number <= len(of) for number in numbers):
        return None
    return {int(number) for number in numbers}


def find_the_leak(answer: Any) -> Outcome:
    """The messages that name an undiscovered intent."""
    picked = _picked(answer, MESSAGES)
    if picked is None:
        return wrong(_NUMBERS)
    known_ids = USER.initially_discovered
    hidden = {key: USER.text(key) for key in USER.intents if key not in known_ids}
    known = [*(USER.text(key) for key in known_ids), USER.initial_request, ASSISTANT_SAID]
    leaks = {place: find_leaks(message, hidden, known) for place, message in enumerate(MESSAGES, 1)}
    leaking = {place for place, found in leaks.items() if giving_away(found)}
    words = ", ".join(f"“{leak.word}” ({leak.meant})" for place in sorted(leaking) for leak in leaks[place])
    false, missed = min(picked - leaking, default=1), min(leaking - picked, default=min(leaking))
    other = "in another form of the word" if leaks[missed][0].how == "inflected" else "in the very word of the intent"
    hints = {
        "There is a leak. Look for words of intents that are still ○.": not picked,
        f"Message {false} is honest. {_why_honest(MESSAGES[false - 1])}": bool(picked - leaking),
        f"One is missing. It names an intent {other}.": bool(leaking - picked),
    }
    return judged(f"The messages name undiscovered intents: {words}.", hints)


def _why_honest(message: str) -> str:
    knows = {key: USER.text(key) for key in USER.initially_discovered}
    if find_leaks(message, {"said": ASSISTANT_SAID}, knows.values()):
        return "It repeats words of the assistant."
    if find_leaks(message, knows, ()):
        return "It names a discovered intent, ●."
    return "It says only that something is missing, or it is about no intent."


def rewards_of(pair: tuple[int, int]) -> tuple[Reward, Reward]:
    """The rewards of the two replies of a pair, draft's and adaptive's."""
    person, turn = pair
    candidates = talk(person, "draft", "adaptive").turns[turn - 1].candidates
    first, second = (candidate.reward for candidate in candidates)
    assert first is not None and second is not None  # scripted replies are always scored
    return first, second


def told_so_far() -> Markup:
    """The message that the user answers in "find the leak"."""
    return show.panel("The assistant wrote", show.bubble("assistant", tag("p", ASSISTANT_SAID)))


def pairs_table() -> Markup:
    """Discovered intents, length and reward of both replies of each pair."""
    rows = []
    for place, pair in enumerate(PAIRS, 1):
        both = rewards_of(pair)
        told = (f"{each.discovered:g} discovered, {each.n_tokens:g} tokens: {signed(each.total)}" for each in both)
        rows.append((f"pair {place}", *told))
    return table(("", "draft", "adaptive"), rows)


def by_length() -> set[int]:
    """The pairs, from 1, whose better reply is better by its length alone, because both discover the same number."""
    rewards = {place: rewards_of(pair) for place, pair in enumerate(PAIRS, 1)}
    return {place for place, (one, other) in rewards.items() if one.discovered == other.discovered}


def decided_by_length(answer: Any) -> Outcome:
    """The pairs whose better reply is better by its length alone."""
    picked = _picked(answer, PAIRS)
    if picked is None:
        return wrong(_NUMBERS)
    right = by_length()
    false, missed = min(picked - right, default=1), min(right - picked, default=1)
    one, other = rewards_of(PAIRS[false - 1])
    better, worse = (one, other) if one.total > other.total else (other, one)
    also = "is also shorter, but it" if better.n_tokens < worse.n_tokens else "is even the longer one. It"
    both = rewards_of(PAIRS[missed - 1])[0].discovered
    hints = {
        "Look for pairs in which both replies discovered the same number of intents.": not picked,
        f"In pair {false} the better reply {also} discovered {better.discovered:g}, the other {worse.discovered:g}. It "
        "would win if length were free.": bool(picked - right),
        "One is missing. Where neither reply discovered an intent, only length tells them apart.": (
            bool(right - picked) and both == 0
        ),
        f"One is missing, a pair in which both replies discovered {both:g}.": bool(right - picked),
    }
    return judged(
        f"{len(right)} of {len(PAIRS)} labels say only “shorter”. An assistant that is trained on many of these learns "
        "to be brief.",
        hints,
    )


def enough_users(answer: Any) -> Outcome:
    """The fewest users with whom four assistants, compared in pairs, can be told apart at 5%."""
    users = number_of(answer)
    if users is None or users < 1 or users != int(users) or users > 100:
        return wrong("Write a whole number of users, from 1 to 100.")
    n, pairs = int(users), COMPARED * (COMPARED - 1) // 2
    least, adjusted = _smallest_p(n, pairs)
    said = f"With {n} users, all of whom agree, p is {least:.3g}"
    hints = {
        f"{said} at best. It is never below {SIGNIFICANCE:g}.": least >= SIGNIFICANCE,
        f"{said}. But {pairs} pairs are compared, and Holm makes it {adjusted:.3g}.": adjusted >= SIGNIFICANCE,
        f"{said}. This is enough, but fewer are enough, too.": n > 1 and _smallest_p(n - 1, pairs)[1] < SIGNIFICANCE,
    }
    right = f"{said}, and {adjusted:.3g} after Holm over {pairs} pairs. This is the smallest number that can show it."
    return judged(right, hints, **{"smallest p": least, "after Holm": adjusted})


def _smallest_p(users: int, pairs: int) -> tuple[float, float]:
    """The smallest p of so many users, alone and adjusted where all pairs are as clear."""
    least = permutation_p([1.0] * users)
    return least, holm([least] * pairs)[0]
