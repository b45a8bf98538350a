"""Explain this number: what a number means in words, as a small picture, and the call that computes it.

An `Explanation` is a plain record.  The stage shows it in a popover; `explained` makes the same of HTML alone, a number
that unfolds, for pages without a script.
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
from discover_lib.metrics.discovery import discovery_scores
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.paired import Comparison, p_text
from discover_lib.metrics.results import Measure, Pool
from workbench.views.html import Markup, code, grid, hidden, in_tokens, joined, signed, subscripts, tag

TURN = "turn = conversation.turns[{index}]"


@dataclass(frozen=True)
class Explanation:
    """A number, explained.

    Attributes:
        title: the word of the glossary that names it, with its symbol.
        words: what this very number says, in one or two sentences.
        call: Python that computes it.
        picture: what a small picture is drawn from: `{"kind": "threshold", "theta", "score", "steps", "crossed"}`, a
            bar that near misses fill up to θ; `{"kind": "sum", "gained", "charge"}`, dots less a charge; or, on pages
            alone, `{"kind": "pool", "found", "scores"}`, what each assistant of a pool found, and its eq. 4.
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
    gained = f"{reward.discovered:g} discovered" if reward.discovered else "Nothing newly discovered"
    charge = f"less {-reward.penalty:.3g} for its length" if reward.penalty else "and no charge: it is short enough"
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
        words = f"{length}; the first {rules.tau:g} are free. The other {above:g} cost "
        words += f"{rules.lam:g} each{capped}: {signed(reward.penalty)}."
    else:
        words = f"{length}, and {rules.tau:g} are free: this reply costs nothing."
    words += f" Counted by: {reply.counting}."
    return Explanation(_title("length penalty"), words, _reward_call(index, "penalty"), _sum(reward))


def of_transition(transition: Transition, rules: Rules, index: int) -> Explanation:
    """Why an intent moved or did not: met directly, or near misses against θ."""
    lines = (TURN.format(index=index - 1), "rules = conversation.rules")
    call = "\n".join((*lines, "advance(conversation.tree, turn.before, turn.candidate.evaluation, rules)"))
    call = f"from discover_lib import advance\n{call}"
    if transition.cause == "direct" or transition.score is None or transition.theta is None:
        meets = "The reply meets this intent itself, so it is discovered at once: no threshold is asked."
        also = " It is also satisfied: the piece shows it." if transition.satisfied else ""
        return Explanation(_title("engaged"), meets + also, call)
    count = round(transition.score / rules.p) if rules.p else 0
    near = "One near miss counts" if count == 1 else f"{count} near misses count"
    each = "" if count == 1 else f" ({rules.p:g} each)"
    says = f"{near} {transition.score:g}{each} against θ = {transition.theta:.2f}. "
    if transition.moved:
        says += f"Enough: it moves up one state, to {transition.after.name.lower()}, and θ starts anew."
    else:
        says += (
            f"Not enough: it stays {transition.before.name.lower()}, and θ shrinks to {transition.theta_left or 0:.2f}."
        )
    picture = {
        "kind": "threshold",
        "theta": transition.theta,
        "score": transition.score,
        "steps": count,
        "crossed": transition.moved,
    }
    return Explanation(_title("threshold"), says, call, picture)


def of_share(text: str, share: float, after: Discovery, index: int, key: str) -> Explanation:
    """What one intent adds to the reward."""
    why = (
        "newly discovered, and each such intent is worth 1"
        if share
        else f"only {after.name.lower()}: that earns nothing"
    )
    call = _reward_call(index, f'shares.get("{key}", 0.0)')
    return Explanation(_title("discovery reward"), f"“{text}”: {why}.", call)


# -- scores of an evaluation -------------------------------------------------------------------------------------------

WISHES = "abcd"
TOY = {"ask": "a", "draft": "ab", "adaptive": "abc"}  # assistant → the wishes of one user that it found


def of_score(name: str, measure: Measure, estimate: Estimate) -> Explanation:
    """A mean of an evaluation and its interval."""
    interval = (
        f"From {measure.shown(estimate.low)} to {measure.shown(estimate.high)}: {TERMS['95 % interval'].meaning}"
        if estimate.low is not None and estimate.high is not None
        else "One artifact gives no interval."
    )
    words = f"{measure.meaning} {name}: the mean over {estimate.n_artifacts} artifacts. {interval}"
    if measure.name == "discovery":
        words += (
            " In the example all found a and nobody found d, so only b and c count: the score of an assistant depends "
            "on who else is compared."
        )
    call = (
        "from discover_lib.metrics.intervals import bootstrap_mean\n"
        "from discover_lib.metrics.results import Pool\n"
        f"bootstrap_mean(Pool(scores).values({measure.name!r})[{name!r}])"
    )
    return Explanation(_title(measure.term), words, call, _toy_pool() if measure.name == "discovery" else None)


def of_comparison(compared: Comparison, measure: Measure) -> Explanation:
    """The p of two assistants."""
    n = compared.difference.n_artifacts
    words = (
        f"Both met the users of the same {n} artifacts, so each artifact gives one difference. Were the two alike, "
        f"each could as well have had the other sign: p = {p_text(compared.p)} is the share of all choices of signs "
        "whose mean lies as far from 0."
    )
    if compared.family > 1:
        words += (
            f" {compared.family} pairs are compared at once; Holm’s correction makes it {p_text(compared.p_adjusted)}."
        )
    call = (
        "from discover_lib.metrics.paired import compare\n"
        "from discover_lib.metrics.results import Pool\n"
        f"compare(Pool(scores).values({measure.name!r}))"
    )
    return Explanation("Permutation test p", words, call)


def of_user(name: str, user: str, measure: Measure, pool: Pool) -> Explanation:
    """A measure of one conversation: that of an assistant with one user of the pool."""
    words = measure.meaning
    if measure.name == "discovery":
        rows = [levels[user] for levels in pool.levels.values()]
        all_found, any_found = (sum(pick(row[key] for row in rows) for key in rows[0]) for pick in (min, max))
        own = sum(pool.levels[name][user].values())
        share = (own - all_found) / (any_found - all_found)
        words += (
            f" Of {len(rows[0])} hidden intents all assistants found {all_found:g}, any of them {any_found:g} and "
            f"{name} {own:g}, emerging ones as half: ({own:g} − {all_found:g}) / ({any_found:g} − {all_found:g}) = "
            f"{measure.shown(share)}."
        )
    elif measure.name == "proportion":
        levels = pool.levels[name][user]
        words += f" Here {sum(levels.values()):g} of {len(levels)}."
    call = f"from discover_lib.metrics.results import Pool\nPool(scores).per_user({measure.name!r})[{name!r}][{user!r}]"
    return Explanation(_title(measure.term), words, call)


def _toy_pool() -> Mapping[str, Any]:
    levels = {name: {"user": {wish: float(wish in found) for wish in WISHES}} for name, found in TOY.items()}
    scores = discovery_scores(levels)
    return {"kind": "pool", "found": TOY, "scores": {name: scores[name]["user"] for name in TOY}}


def _sum(reward: Reward) -> Mapping[str, Any]:
    return {"kind": "sum", "gained": reward.discovered, "charge": -reward.penalty}


def _reward_call(index: int, part: str) -> str:
    return (
        "from discover_lib import reward\n"
        f"{TURN.format(index=index - 1)}\n"
        f"reward(conversation.tree, turn.before, turn.after, turn.reply.n_tokens, conversation.rules).{part}"
    )


# -- the same without a script -----------------------------------------------------------------------------------------


def explained(number: str, explanation: Explanation) -> Markup:
    """A number that unfolds into its explanation."""
    body = (
        tag("b", subscripts(explanation.title)),
        tag("p", explanation.words),
        picture(explanation.picture) if explanation.picture else Markup(),
        code(explanation.call, "dl-call"),
    )
    summary = tag("summary", number, aria_label=f"{number}: explain this number")
    return tag("details", summary, tag("div", *body, class_="dl-explain-body"), class_="dl-explain")


def picture(parts: Mapping[str, Any]) -> Markup:
    """The small picture of an explanation: a bar filled up to θ, dots less a charge, or what a pool found."""
    if parts["kind"] == "threshold":
        full = max(parts["theta"], parts["score"], 1e-9)
        fill = tag("i", style=f"width:{parts['score'] / full:.1%}")
        mark = tag("em", style=f"left:{parts['theta'] / full:.1%}")
        label = f"{parts['score']:g} of θ {parts['theta']:.2f}"
        return tag("div", fill, mark, class_="dl-threshold", role="img", aria_label=label)
    if parts["kind"] == "pool":
        rows = (
            tag(
                "tr",
                tag("th", name, scope="row"),
                *(
                    tag("td", "●" if wish in found else "○", hidden(" found" if wish in found else " not"))
                    for wish in WISHES
                ),
                tag("td", f"{parts['scores'][name]:g}"),
            )
            for name, found in parts["found"].items()
        )
        return grid(("", *WISHES, "eq. 4"), rows, class_="dl-pool")
    dots = joined(tag("i") for _ in range(round(max(0.0, parts["gained"]))))
    charge = f"{parts['charge']:.3g}" if parts["charge"] else "0"
    label = f"{parts['gained']:g} discovered, {charge} off for length"
    return tag("div", dots, tag("span", f"− {charge}"), class_="dl-sum-dots", role="img", aria_label=label)
