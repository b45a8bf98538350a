"""Explanations of numbers: words, a small picture, and the call that computes the number.

An `Explanation` is a plain record. The stage shows it in a popover.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discover_lib.base.glossary import TERMS
from discover_lib.core.conversation import Reply
from discover_lib.core.reward import Reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Transition
from workbench.views.html import in_tokens, signed

TURN = "turn = conversation.turns[{index}]"


@dataclass(frozen=True)
class Explanation:
    """A number, explained.

    Attributes:
        title: its term in the glossary, with its symbol.
        words: the meaning of this number, in one or two sentences.
        call: Python that computes it.
        picture: the data of a small picture. `{"kind": "threshold", "theta", "score", "steps", "crossed"}` is a bar
            that near misses fill up to θ. `{"kind": "sum", "gained", "charge"}` is discovered intents minus a penalty.
    """

    title: str
    words: str
    call: str
    picture: Mapping[str, Any] | None = None


def _title(name: str) -> str:
    term = TERMS[name]
    symbol = f" {term.symbol}" if term.symbol else ""
    return f"{name[:1].upper()}{name[1:]}{symbol}"


def of_reward(reward: Reward, index: int) -> Explanation:
    """The reward of turn number `index`."""
    gained = f"{reward.discovered:g} discovered"
    charge = f"minus {-reward.penalty:.3g} for its length" if reward.penalty else "without a length penalty"
    words = f"{gained}, {charge}: {signed(reward.total)}. {TERMS['reward'].meaning}"
    return Explanation(_title("reward"), words, _reward_call(index, "total"), _sum(reward))


def of_discovery(reward: Reward, index: int) -> Explanation:
    """The discovery part of a reward."""
    words = f"{TERMS['discovery reward'].meaning} Here: {signed(reward.discovered)}."
    return Explanation(_title("discovery reward"), words, _reward_call(index, "discovered"), _sum(reward))


def of_length(reward: Reward, reply: Reply, rules: Rules, index: int) -> Explanation:
    """The length part of a reward."""
    above = max(0.0, reply.n_tokens - rules.tau)
    length = in_tokens(reply.n_tokens, rules.token_unit)
    if above:
        capped = f", but never more than {rules.penalty_cap:g}" if rules.lam * above > rules.penalty_cap else ""
        words = f"{length}. The first {rules.tau:g} are free. The other {above:g} cost "
        words += f"{rules.lam:g} each{capped}: {signed(reward.penalty)}."
    else:
        words = f"{length}, and {rules.tau:g} are free. This reply has no penalty."
    words += f" Counted by: {reply.counting}."
    return Explanation(_title("length penalty"), words, _reward_call(index, "penalty"), _sum(reward))


def of_transition(transition: Transition, rules: Rules, index: int) -> Explanation:
    """Why an intent changed state or not: a match, or near misses against θ."""
    lines = (TURN.format(index=index - 1), "rules = conversation.rules")
    call = "\n".join((*lines, "advance(conversation.tree, turn.before, turn.candidate.evaluation, rules)"))
    call = f"from discover_lib import advance\n{call}"
    if transition.cause == "direct" or transition.score is None or transition.theta is None:
        meets = "The reply matches this intent, so it is discovered at once, at any threshold."
        also = " It is also satisfied, because the artifact shows it." if transition.satisfied else ""
        return Explanation(_title("engaged"), meets + also, call)
    count = round(transition.score / rules.p) if rules.p else 0
    near = "One near miss counts" if count == 1 else f"{count} near misses count"
    each = "" if count == 1 else f" ({rules.p:g} each)"
    says = f"{near} {transition.score:g}{each} against θ = {transition.theta:.2f}. "
    if transition.moved:
        says += f"That is enough. It becomes {transition.after.name.lower()}, and θ starts again at its first value."
    else:
        left = transition.theta_left or 0
        says += f"That is not enough. It stays {transition.before.name.lower()}, and θ shrinks to {left:.2f}."
    picture = {
        "kind": "threshold",
        "theta": transition.theta,
        "score": transition.score,
        "steps": count,
        "crossed": transition.moved,
    }
    return Explanation(_title("threshold"), says, call, picture)


def of_share(text: str, share: float, after: Discovery, index: int, key: str) -> Explanation:
    """The share of one intent in the reward."""
    why = "newly discovered, so it earns 1" if share else f"{after.name.lower()}, so it earns 0"
    call = _reward_call(index, f'shares.get("{key}", 0.0)')
    return Explanation(_title("discovery reward"), f"“{text}”: {why}.", call)


def _sum(reward: Reward) -> Mapping[str, Any]:
    return {"kind": "sum", "gained": reward.discovered, "charge": -reward.penalty}


def _reward_call(index: int, part: str) -> str:
    return (
        "from discover_lib import reward\n"
        f"{TURN.format(index=index - 1)}\n"
        f"reward(conversation.tree, turn.before, turn.after, turn.reply.n_tokens, conversation.rules).{part}"
    )
