"""The site's page on the reward: a conversation scored again in the visitor's browser, under rules of their own."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from discover_lib.core.rules import NAMED_RULES
from discover_lib.metrics.replay import replay
from workbench import reward_page
from workbench.carried import RULE_SLIDERS, base_rules, rules_set, slider_values
from workbench.views.html import joined, tag


def opening() -> dict[str, Any]:
    """The values that the page begins with: what can be chosen, and the first conversation, scored already."""
    sliders = [
        {"name": name, "most": most, "step": step, "label": label} for name, (most, step, label) in RULE_SLIDERS.items()
    ]
    talks, first = reward_page.conversation_names()
    choices = {"talks": talks, "talk": first, "rules": list(NAMED_RULES), "sliders": sliders}
    return {"choices": choices, "asked": {}, "scored": scored({})}


def scored(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply is worth under the rules asked for, as HTML, and how the controls stand.

    Args:
        asked: `talk`, `rules` (a name each), `turn`, `p`, `tau`, `lam` (of 1,000 tokens), as the notebook's address
            has them; what is missing or unknown is at its default, and a number beyond its slider at the slider's end.
    """
    talks, first = reward_page.conversation_names()
    talk = asked["talk"] if asked.get("talk") in talks else first
    name = asked["rules"] if asked.get("rules") in list(NAMED_RULES) else next(iter(NAMED_RULES))
    original = reward_page.conversation(talk)
    base = base_rules(name, original.rules)
    untouched = slider_values(base)
    sliders = {key: _within(asked.get(key), 0, most, untouched[key]) for key, (most, _, _) in RULE_SLIDERS.items()}
    turn = int(_within(asked.get("turn"), 1, len(original.turns), 1))
    now = replay(original, rules_set(base, *sliders.values()))
    rest = (
        reward_page.reply_receipt(original, now, base, turn),
        tag("h2", reward_page.EVERY_TURN),
        reward_page.every_turn(original, now),
    )
    return {
        "number": asked.get("number", 0),
        "talk": talk,
        "rules": name,
        "turn": turn,
        "turns": len(original.turns),
        "sliders": sliders,
        "untouched": untouched,
        "sum": str(reward_page.reply_sum(now, turn)),
        "rest": str(joined(rest)),
    }


def _within(value: Any, low: float, high: float, otherwise: float) -> float:
    if isinstance(value, int | float) and isfinite(value):
        return min(max(value, low), high)
    return otherwise
