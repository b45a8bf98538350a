"""HTML fragments about the reward of a reply: its sum, and the same turn under other rules."""

from __future__ import annotations

from collections.abc import Iterator

from discover_lib.base.glossary import TERMS
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.metrics.rescore import other_choices
from discover_lib.metrics.transcript import in_words, level_name
from workbench.views.figures.charts import reward_bars
from workbench.views.html import (
    EMPTY,
    Markup,
    explained,
    in_tokens,
    joined,
    quiet,
    signed,
    subscripts,
    table,
    tag,
    term,
)

_NEW = Markup("|I<sub>t+1</sub>| − |I<sub>t</sub>|")
_NEW_MEANS = "Number of intents discovered after the reply, minus the number before it."


def assembled(turn: Turn, rules: Rules) -> Markup:
    """The reward of a turn's reply as a sum: what it earned, what its length costs, and the formula of each."""
    earned = turn.candidate.reward
    if earned is None:
        return quiet("This reply is unscored. It has no reward, not a reward of 0.")
    known, now_known = len(turn.before.discovered), len(turn.after.discovered)
    by_count = rules.discovery_reward == "newly_discovered"
    counted = (
        (explained(_NEW, _NEW_MEANS), f" = {now_known} − {known}")
        if by_count
        else (f"change of level = {earned.discovered:g}",)
    )
    n, above = turn.reply.n_tokens, max(0.0, turn.reply.n_tokens - rules.tau)
    capped = rules.lam * above > rules.penalty_cap
    how = f"{rules.lam:g} × {above:g}" + (f", {rules.penalty_cap:g} at most" if capped else "")
    found = "intents discovered" if by_count else "levels gained"
    parts = (
        _part(earned.discovered, found, term("discovery reward", "R_d"), " = ", *counted),
        tag("span", "+", class_="rw-sign"),
        _part(
            earned.penalty,
            f"for {above:g} tokens beyond {rules.tau:g} free ones",
            term("length penalty", "R_e"),
            f" = −min({rules.penalty_cap:g}, ",
            term("price of a token", "λ"),
            " · max(0, ",
            explained("n", f"The length of the reply: {in_tokens(n, rules.token_unit)}."),
            " − ",
            term("free tokens", "τ"),
            f")) = −{how}",
        ),
        tag("span", "=", class_="rw-sign"),
        _part(earned.total, "reward of the reply", term("reward", "R"), subscripts(" = R_d + R_e")),
    )
    return tag("div", *parts, class_="rw-sum")


def _part(value: float, words: str, *formula: str) -> Markup:
    """One number of the sum: its value, what it is in words, and its formula."""
    sign = "costs" if value < 0 else "earns" if value > 0 else "nothing"
    number = tag("b", signed(value), class_="rw-number dl-num", data_sign=sign)
    return tag("div", number, tag("span", words), tag("span", *formula, class_="rw-formula"), class_="rw-part")


def symbols() -> Markup:
    """The letters of the reward, each with its sentence of the glossary."""
    names = ("reward", "discovery reward", "length penalty", "price of a token", "free tokens", "near-miss weight")
    rows = (
        tag("li", tag("b", subscripts(TERMS[name].symbol)), f" {name}: {TERMS[name].meaning}")
        for name in (*names, "threshold")
    )
    return tag("ul", *rows, class_="dl-plain dl-small")


# -- the same turn under other rules -----------------------------------------------------------------------------------


def compared(was: Turn, now: Turn, tree: IntentTree) -> Markup:
    """The reward breakdown of a turn under other rules; a number that changed is preceded by the earlier one."""
    before, after = dict(_lines(was, tree)), dict(_lines(now, tree))
    rows = []
    for name in {**after, **before}:
        (old_change, old), (change, new) = before.get(name, ("", "")), after.get(name, ("nothing", "+0"))
        struck = tag("del", old or "+0", class_="dl-quiet") + Markup(" ") if (old or "+0") != new else EMPTY
        rows.append(
            (
                subscripts(name),
                change if change == old_change else f"{change} (before: {old_change or 'nothing'})",
                struck + new,
            )
        )
    return table(("Intent", "Change", "Reward"), rows)


def _lines(turn: Turn, tree: IntentTree) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name → change and reward: a line per intent that the reply moved, then the sums."""
    reward = turn.candidate.reward
    assert reward is not None
    for each in turn.candidate.transitions:
        yield tree.text(each.intent_id), (in_words(each), signed(reward.shares.get(each.intent_id, 0.0)))
    yield "Discovery reward R_d", ("", signed(reward.discovered))
    yield "Length penalty R_e", ("", signed(reward.penalty))
    yield "Reward R = R_d + R_e", ("", signed(reward.total))


def every_turn(original: Conversation, now: Conversation) -> Markup:
    """A bar for the reward of each turn, and their sum; a turn without a score has no bar."""
    scored = [
        pair for pair in zip(original.turns, now.turns, strict=True) if all(each.candidate.reward for each in pair)
    ]
    were, are = ([turn.candidate.reward.total for turn in turns] for turns in zip(*scored, strict=True))  # type: ignore[union-attr]
    before = "" if now.rules == original.rules else f"; under the {original.rules.name} rules {signed(sum(were))}"
    return reward_bars(are, were if are != were else ()) + quiet(f"In all {signed(round(sum(are), 3))}{before}.")


def changes(original: Conversation, now: Conversation) -> Markup:
    """Which intents end in another state under other rules, and which turns prefer another reply."""
    tree = original.tree
    states = [
        (tree.text(key), level_name(original.state[key]), level_name(now.state[key]))
        for key in tree.intents
        if original.state[key] is not now.state[key]
    ]
    replies = [
        (f"Turn {choice.turn}", *(choice.candidates[place].reply.assistant for place in (choice.then, choice.now)))
        for choice in other_choices(original, now)
    ]
    parts = [table(("", "Before", "Now"), [*states, *replies])] if states or replies else []
    return joined([*parts, quiet("Every intent ends in the same state.") if not states else EMPTY])
