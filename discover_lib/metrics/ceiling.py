"""How much of a user could be found at all: what a perfect reply a turn would discover in so many turns.

The judge is shown one tree a turn (paper, section 3.2: the focus), so a wide forest stays partly hidden however good
the assistant is.  A share of hidden intents found is read beside this ceiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from discover_lib.core.advance import advance, initial_state, walk
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, Verdict
from discover_lib.metrics.intervals import Estimate, bootstrap_mean


def ceiling(tree: IntentTree, rules: Rules | None = None, turns: int = MAX_TURNS) -> float:
    """The share of the hidden intents that is discovered if every reply is a piece that meets all it is judged by.

    Thresholds play no part: nothing is merely nearly met.

    Returns:
        A share in [0, 1]; 1 where nothing is hidden at the start.
    """
    rules = rules or Rules.paper()
    state = initial_state(tree, rules)
    hidden = len(tree) - len(state.discovered)
    for _ in range(turns):
        verdicts = walk(tree, state, rules, lambda intent: Verdict(intent.id, engaged=True))
        if not verdicts:
            break
        state, _ = advance(tree, state, Evaluation("artifact", verdicts), rules)
    return 1 - (len(tree) - len(state.discovered)) / hidden if hidden else 1.0


def mean_ceiling(trees: Iterable[IntentTree], rules: Rules | None = None, turns: int = MAX_TURNS) -> float:
    """The mean of several artifacts' ceilings, each counted once, as a mean share of hidden intents counts them.

    Where nothing is hidden there is no such share, and the artifact is left out; 1 if that goes for all of them.
    """
    return fmean([ceiling(tree, rules, turns) for tree in trees if hides(tree)] or [1.0])


def hides(tree: IntentTree) -> bool:
    """Whether anything is left to discover at the start."""
    return len(tree.initially_discovered) < len(tree)


def ceiling_over(ceilings: Mapping[str, float], artifacts: Iterable[str]) -> Estimate | None:
    """The mean ceiling of these artifacts with its interval, to stand beside a mean share; None where none is known."""
    known = {artifact: [ceilings[artifact]] for artifact in artifacts if artifact in ceilings}
    return bootstrap_mean(known) if known else None
