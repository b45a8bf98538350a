"""Controls whose choices stand in the page's address, so that they outlive a reload and travel from page to page.

`kept(mo.ui.slider, "turn", 1, 5, value=1, label="Turn")` makes any control of marimo that way.
marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from discover_lib.base.files import outputs_folder
from discover_lib.core.rules import NAMED_RULES, Rules

OWN = "the run’s own"
RULE_SLIDERS = {  # name in the address → the most it goes up to, its step, and its label
    "p": (1, 0.05, "near-miss weight"),
    "tau": (1000, 10, "free tokens"),
    "lam": (10, 0.5, "price of 1,000 tokens"),
}


def address() -> Any:
    """The choices in the page's address."""
    import marimo as mo

    return mo.query_params()


def kept(
    kind: Callable[..., Any], name: str, *arguments: Any, value: Any, forgets: Sequence[str] = (), **how: Any
) -> Any:
    """A control that begins as the page's address says under `name`, and writes what is chosen there.

    What is at its default leaves the address; what the address asks for and the control cannot hold is passed over.

    Args:
        kind: `mo.ui.slider` or another; `arguments` and `how` are its own.
        value: its default; of a menu the label.
        forgets: other names of the address that a choice here makes void.
    """
    import marimo as mo

    choices: Mapping[str, Any] = {}
    if kind in (mo.ui.dropdown, mo.ui.radio, mo.ui.multiselect):
        choices = kind(*arguments, **how).options
        value = value if value is None or isinstance(value, str | list) else str(value)
    # A folder stands in the address as its path: its label says when the run has changed.
    names = {label: below_outputs(each) if isinstance(each, Path) else label for label, each in choices.items()}

    def remember(chosen: Any) -> None:
        if choices and isinstance(chosen, list):
            chosen = [label for label, choice in choices.items() if choice in chosen]
        elif choices:
            chosen = next(label for label, choice in choices.items() if choice == chosen)
        written = mo.query_params()
        for other in (name, *forgets):
            if other in written:
                written.remove(other)
        if _written(chosen) != _written(value):
            written.set(name, _written(chosen) if isinstance(chosen, list) else names.get(chosen, _written(chosen)))

    asked = address().get(name) if mo.running_in_notebook() else None
    if asked is not None:
        asked = next((label for label in names if asked in (names[label], choices[label])), asked)
        try:
            return kind(*arguments, **how, value=_wanted(asked, value, arguments), on_change=remember)
        except (KeyError, TypeError, ValueError, RecursionError):
            pass
    return kind(*arguments, **how, value=value, on_change=remember)


def below_outputs(folder: Path) -> str:
    """A folder as the address and the menus name it: below the outputs folder, or in full where it is elsewhere."""
    return str(folder.relative_to(outputs_folder())) if folder.is_relative_to(outputs_folder()) else str(folder)


def _wanted(asked: str, default: Any, arguments: Sequence[Any]) -> Any:
    """What the address asks of a control with this default; raises where it cannot be read."""
    if isinstance(default, str):
        return asked
    value = json.loads(asked)
    if type(value) in (int, float) and type(default) in (int, float):
        low, high = arguments[:2] if len(arguments) > 1 else (value, value)
        return min(max(value, low), high)
    if type(value) is not type(default):
        raise ValueError(asked)
    return value


def rules_menu(label: str, name: str = "rules", *, own: bool = False) -> Any:
    """Named rules, `name` in the address; with `own` those of the run come first.  Another choice frees the sliders."""
    import marimo as mo

    names = [*([OWN] if own else []), *NAMED_RULES]
    return kept(mo.ui.dropdown, name, names, value=names[0], label=label, forgets=("p", "tau", "lam"))


def base_rules(name: str, own: Rules) -> Rules:
    """The rules chosen in the menu, with tokens counted in the run's unit."""
    return own if name == OWN else NAMED_RULES[name]().replace(token_unit=own.token_unit)


def rule_sliders(base: Rules) -> tuple[Any, ...]:
    """Sliders for p, τ and 1000 λ, at the rules' values where the address asks for no other."""
    import marimo as mo

    values = {"p": base.p, "tau": base.tau, "lam": 1000 * base.lam}
    return tuple(
        kept(mo.ui.slider, name, 0, most, step, value=min(values[name], most), label=label, show_value=True)
        for name, (most, step, label) in RULE_SLIDERS.items()
    )


def rules_set(base: Rules, p: float, tau: float, lam_of_1000: float) -> Rules:
    """The rules as the sliders stand; what was not moved stays unnamed in the rules' name."""
    wanted = {"p": p, "tau": tau, "lam": lam_of_1000 / 1000}
    return base.replace(**{name: value for name, value in wanted.items() if value != getattr(base, name)})


def address_of(page: str, run: str, **values: Any) -> str:
    """The address of another page of this workbench with the same run and these values."""
    written = {name: _written(value) for name, value in values.items()}
    return f"/?{urlencode({'file': page, 'run': run, **written})}"


def _written(value: Any) -> Any:
    """A value as the one of its name in an address, a list without blanks: a page is told the last of several alone."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, separators=(",", ":"))
