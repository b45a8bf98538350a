"""Exercises with the paper's rules: near misses, the transition in code, the reward, τ, and GRPO's group."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

from discover_lib.base.seeds import derive_rng
from discover_lib.core.advance import advance, initial_state
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import length_penalty, reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState, Verdict
from discover_lib.train.grpo import group_of
from workbench.lessons.exercise import EVERYBODY, Outcome, found, judged, number_of, numbers_of, talk, tree_of, wrong
from workbench.story import near_misses_on_one_wish
from workbench.views.html import signed

THETA = 0.5  # of the intent in "near misses"
MOST_NEAR = 20  # near misses in one reply
N_TOKENS, N_FOUND = 610, 2  # of the reply in "reward"
TALKER = 17  # the user of "tau"
STEP = 10  # of its slider
GROUP = 4  # replies in "nothing learnt"
RANDOM_CASES = 200  # for "advance", beside the named ones
WRITE_ADVANCE = """
Code runs only on your own machine: `discover open --edit`, a new notebook, and

```python
from discover_lib import Discovery, IntentState
from workbench.lessons.exercises import check


def advance(tree, state, evaluation, rules):
    levels, thetas = dict(state.discovery), dict(state.thresholds)
    for verdict in evaluation.verdicts:
        if verdict.engaged:
            levels[verdict.intent_id] = Discovery.DISCOVERED
        # add near misses, θ, parents and satisfied intents
    return IntentState(levels, state.satisfied, thetas, state.initial_thresholds)


check("advance", advance)
```

The check runs your function on 210 cases, ten of them with a name. It names the rule that the first wrong case breaks.
"""


def near_misses(answer: Any) -> Outcome:
    """The fewest near misses in one reply that change the state of an intent of threshold `THETA`."""
    count = number_of(answer)
    if count is None or not 1 <= count <= MOST_NEAR or count != int(count):
        return wrong(f"A number of near misses is a whole number, at least 1 and at most {MOST_NEAR}.")
    outcome = near_misses_on_one_wish(THETA)
    now = outcome(int(count))
    score, left = now.score or 0.0, now.theta_left or 0.0
    hints = {
        f"{score:g} reaches θ = {THETA:g}, but the state changes only above it.": not now.moved and score == THETA,
        f"{int(count)} × {Rules.paper().p:g} = {score:g}, less than θ = {THETA:g}. It stays undiscovered, and θ "
        f"shrinks to {left:g}.": not now.moved,
        f"{score:g} is above θ = {THETA:g}, but fewer are enough, too.": count > 1 and outcome(int(count) - 1).moved,
    }
    return judged(
        f"{score:g} is above θ = {THETA:g}, so the intent becomes emerging, ○ → ◆.",
        hints,
        **{"score": score, "θ": THETA},
    )


# -- advance, in code --------------------------------------------------------------------------------------------------

_TREE = IntentTree.from_dict(
    {
        "artifact_type": "drawing",
        "topic": "animal",
        "initial_request": "draw something",
        "roots": [
            {"id": "1", "text": "an animal", "children": [{"id": "1.1", "text": "a fox"}]},
            {"id": "2", "text": "warm tones"},
        ],
    }
)


def _built(*verdicts: Verdict) -> Evaluation:
    """The evaluation of a reply that builds an artifact."""
    return Evaluation("artifact", verdicts)


_KNOWN = IntentState({"1": Discovery.DISCOVERED}, frozenset(), {"1": 0.5, "1.1": 0.5, "2": 0.5})
_HUNCH = IntentState(
    {"1": Discovery.EMERGING}, frozenset(), {"1": 0.3, "1.1": 0.5, "2": 0.5}, {"1": 0.6, "1.1": 0.5, "2": 0.5}
)


_FRESH = initial_state(_TREE, thresholds={"1": 0.5, "1.1": 0.5, "2": 0.5})
# (the rule that the case tests, the state before, the evaluation of the reply)
_NAMED_CASES = (
    ("A matched intent becomes discovered at once, at any θ.", _FRESH, _built(Verdict("2", True))),
    (
        "A question makes an intent discovered, never satisfied. An artifact does both.",
        _FRESH,
        Evaluation("dialogue_act", (Verdict("2", True),)),
    ),
    (
        "A child cannot change state while its parent is not discovered, so its verdict is skipped.",
        _FRESH,
        _built(Verdict("1", False), Verdict("1.1", True)),
    ),
    (
        "A child can change state in the reply that makes its parent discovered, because parents come first.",
        _FRESH,
        _built(Verdict("1", True), Verdict("1.1", True)),
    ),
    (
        "Below θ the state stays, but the score lowers θ for the next reply.",
        _FRESH,
        _built(Verdict("2", False, ("a",))),
    ),
    (
        "A score that equals θ does not pass it. The paper's comparison is >.",
        _FRESH,
        _built(Verdict("2", False, ("a", "b"))),
    ),
    (
        "After a change of state θ starts again at its first value.",
        _HUNCH,
        _built(Verdict("1", False, ("a", "b"))),
    ),
    (
        "An intent moves up one state per reply, with any number of near misses.",
        _FRESH,
        _built(Verdict("2", False, ("a", "b", "c", "d", "e"))),
    ),
    (
        "The same near miss twice in a reply counts once.",
        _FRESH,
        _built(Verdict("2", False, ("a", "A", "b", "a"))),
    ),
    (
        "A discovered intent stays discovered. Near misses do not change it.",
        _KNOWN,
        _built(Verdict("1", False, ("a", "b"))),
    ),
)


def _random_case(rng: random.Random) -> tuple[IntentState, Evaluation]:
    thresholds = {key: rng.choice((0.1, 0.25, 0.3, 0.5, 0.75, 0.9)) for key in _TREE.intents}
    levels = {key: rng.choice(list(Discovery)) for key in _TREE.intents}
    verdicts = [
        Verdict(key, rng.random() < 0.3, tuple(rng.sample("abcde", rng.randrange(4))))
        for key in _TREE.intents
        if rng.random() < 0.8
    ]
    state = IntentState(levels, frozenset(), thresholds, dict.fromkeys(thresholds, 0.95))
    return state, Evaluation(rng.choice(("artifact", "dialogue_act")), tuple(verdicts))


def write_advance(answer: Any) -> Outcome:
    """A function `advance(tree, state, evaluation, rules)` that returns the state that `core.advance` returns."""
    if not callable(answer):
        return wrong("Give the function itself, as in check(advance), not its result and not its text.")
    rules, rng = Rules.paper(), derive_rng(0, "advance")
    mixed = "It differs from the paper's transition in a mixed case."
    cases = [*_NAMED_CASES, *((mixed, *_random_case(rng)) for _ in range(RANDOM_CASES))]
    for place, (hint, state, evaluation) in enumerate(cases):
        expected, _ = advance(_TREE, state, evaluation, rules)
        try:
            given = answer(_TREE, state, evaluation, rules)
        except Exception as error:
            return wrong(f"It raised {type(error).__name__}: {error} (case {place + 1}). {hint}")
        given = given[0] if isinstance(given, tuple) and given else given
        if not isinstance(given, IntentState):
            return wrong(f"It returned {type(given).__name__}. Return an IntentState.")
        if _differs(given, expected):
            return wrong(f"{hint} Case {place + 1}: {_case_said(evaluation)}", cases=float(len(cases)))
    return Outcome(True, f"The same as the library's in {len(cases)} cases.", {"cases": float(len(cases))})


def _differs(given: IntentState, expected: IntentState) -> bool:
    return (
        any(given[key] is not expected[key] for key in _TREE.intents)
        or given.satisfied != expected.satisfied
        or any(round(_theta(given, key) - _theta(expected, key), 9) != 0 for key in _TREE.intents)
    )


def _theta(state: IntentState, key: str) -> float:
    theta = state.thresholds.get(key, float("inf"))
    return theta if isinstance(theta, int | float) else float("inf")


def _case_said(evaluation: Evaluation) -> str:
    said = [
        f"{verdict.intent_id} " + ("engaged" if verdict.engaged else f"{len(verdict.near_misses)} near misses")
        for verdict in evaluation.verdicts
    ]
    return f"{evaluation.kind.replace('_', ' ')}, {', '.join(said)}."


# -- the reward --------------------------------------------------------------------------------------------------------


def worth(answer: Any) -> Outcome:
    """The reward of a reply of `N_TOKENS` tokens that makes `N_FOUND` intents discovered."""
    given = number_of(answer)
    if given is None:
        return wrong("A reward is a number, such as 1.5.")
    tree, rules = tree_of(TALKER), Rules.paper()
    before = initial_state(tree, rules)
    hidden = [key for key in tree.intents if key not in before.discovered][:N_FOUND]
    after = IntentState({**before.discovery, **dict.fromkeys(hidden, Discovery.DISCOVERED)})
    right = reward(tree, before, after, N_TOKENS, rules)
    shown = {"R_d": right.discovered, "R_e": right.penalty}
    sum_said = f"{right.discovered:g} − {rules.lam:g} × ({N_TOKENS} − {rules.tau:g}) = {right.total:g}"
    if abs(given - right.total) < 0.005:
        return Outcome(True, sum_said, shown)
    without = right.discovered + length_penalty(N_TOKENS, rules.replace(tau=0))
    capped = right.discovered - rules.penalty_cap
    hints = {
        right.discovered: "Length is not free here. Count the tokens beyond τ.",
        without: f"The first {rules.tau:g} tokens cost nothing. Subtract λ only for the tokens beyond τ.",
        right.discovered - right.penalty: "The length penalty is subtracted, so do not add it.",
        right.penalty: f"This is the penalty alone. {N_FOUND} intents became discovered, each worth 1.",
        capped: f"{rules.penalty_cap:g} is the largest length penalty. This reply is not that long.",
    }
    hint = next((hint for value, hint in hints.items() if abs(given - value) < 0.005), None)
    return wrong(hint or "Count the intents that became discovered, and subtract λ for every token beyond τ.", **shown)


# -- τ -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def earned(assistant: str, tau: float, person: int = TALKER) -> float:
    """The reward of an assistant's five replies to a user if `tau` tokens of each are free."""
    rules, turns = Rules.paper().replace(tau=tau), talk(person, assistant).turns
    rewards = [(turn.candidate.reward, length_penalty(turn.reply.n_tokens, rules)) for turn in turns]
    return sum(reward.discovered + charge for reward, charge in rewards if reward is not None)


def move_tau(answer: Any) -> Outcome:
    """The least τ, in steps of `STEP`, at which verbose earns more than draft."""
    tau = number_of(answer)
    if tau is None or tau < 0:
        return wrong("Write a number of tokens, 0 or more.")
    verbose, draft, paper = earned("verbose", tau), earned("draft", tau), Rules.paper().tau
    said = f"At τ = {tau:g} verbose earns {verbose:.2f} and draft {draft:.2f}"
    also = f", the paper's {paper:g} included" if tau == paper else ""
    hints = {
        f"{said}. Fewer free tokens hurt the longer replies more. Go the other way.": verbose <= draft and tau < paper,
        f"{said}. Not yet{also}. Its replies are around 1,200 tokens long.": verbose <= draft,
        f"{said}. It wins, but it also wins with fewer free tokens.": (
            earned("verbose", max(0, tau - STEP)) > earned("draft", max(0, tau - STEP))
        ),
    }
    wins = sum(found(talk(person, "verbose")) > found(talk(person, "draft")) for person in EVERYBODY)
    right = (
        f"{said}. Saying everything twice pays when length is free. One user is an anecdote, though. Without a penalty "
        f"verbose beats draft on {wins} of {len(EVERYBODY)} other users."
    )
    return judged(right, hints, verbose=verbose, draft=draft)


# -- GRPO --------------------------------------------------------------------------------------------------------------


def nothing_learnt(answer: Any) -> Outcome:
    """Four rewards of good replies from which GRPO learns nothing."""
    rewards = numbers_of(answer)
    if rewards is None or len(rewards) != GROUP:
        return wrong(f"Set {GROUP} rewards, one number per reply.")
    group = group_of(rewards)
    advantages = {f"reply {place}": value or 0.0 for place, value in enumerate(group.advantages, 1)}
    largest = max(advantages, key=lambda name: abs(advantages[name]))
    gets = f"{largest} gets the advantage {signed(round(advantages[largest], 2))}."
    spread, mean = group.std or 0.0, group.mean or 0.0
    hints = {
        f"They differ by a hair, and dividing by a spread of {spread:.2g} makes that a full update. {gets}": (
            group.signal and spread < 0.01
        ),
        f"Rewards that sum to 0 do not make the advantages 0. {gets}": group.signal and abs(mean) < 1e-9,
        f"The distance from the mean, {mean:g}, decides. {gets}": group.signal,
        f"GRPO learns nothing, but these replies earned {rewards[0]:g}. The same holds for good replies. Give all of "
        "them a reward above 0.": rewards[0] <= 0,
    }
    return judged(
        f"Every reply earned {rewards[0]:g}, so no reply is better than its group. All advantages are 0, even for good "
        "replies.",
        hints,
    )
