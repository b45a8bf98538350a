"""What a reply did to an intent, in words: for chips, tooltips, receipts and the terminal alike."""

from __future__ import annotations

from discover_lib.core.state import Discovery, Transition


def level_name(level: Discovery) -> str:
    """A level of discovery as people read it: "emerging"."""
    return level.name.lower()


def news(transition: Transition) -> str:
    """The result in two or three words: "now emerging", "now satisfied", "θ 0.90 → 0.65"."""
    if transition.moved:
        return f"now {level_name(transition.after)}"
    if transition.satisfied:
        return "now satisfied"
    return f"θ {transition.theta:.2f} → {transition.theta_left or 0:.2f}"


def cause(transition: Transition) -> str:
    """Why it changed: "engaged", "near miss, score 0.50 against θ 0.31"."""
    if transition.cause == "direct" or transition.score is None or transition.theta is None:
        return "engaged"
    return f"near miss, score {transition.score:.2f} against θ {transition.theta:.2f}"


def in_words(transition: Transition) -> str:
    """The whole transition: "undiscovered → emerging, near miss, score 0.50 against θ 0.31"."""
    moved = f"{level_name(transition.before)} → {level_name(transition.after)}" if transition.moved else ""
    satisfied = "now satisfied" if transition.satisfied else ""
    return ", ".join(filter(None, (moved, satisfied, cause(transition))))
