"""Controls whose choices stand in the page's address, so that they outlive a reload and travel from page to page.

`kept(mo.ui.slider, "turn", 1, 5, value=1, label="Turn")` makes any control of marimo that way.
marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from discover_lib.core.rules import Rules
from discover_lib.metrics.rescore import NAMED_RULES
from discover_lib.metrics.results import ALL, MEASURE, MEASURES
from discover_lib.metrics.scores import ConversationScores

OWN = "the run’s own"


def kept(kind: Callable[..., Any], name: str, *arguments: Any, forgets: Sequence[str] = (), **options: Any) -> Any:
    """A control that begins as the page's address says under `name`, and writes what is chosen there.

    What is at its default leaves the address; what the address asks for and the control cannot hold is passed over.

    Args:
        kind: `mo.ui.slider` or another; `arguments` and `options` are its own.
        forgets: other names of the address that a choice here makes void.
    """
    import marimo as mo

    start = kind(*arguments, **options)
    choices: Mapping[str, Any] = {} if kind is mo.ui.text else getattr(start, "options", {})

    def written(value: Any) -> str:
        if isinstance(value, list) and choices:
            value = [label for label, choice in choices.items() if choice in value]
        elif choices:
            value = next((label for label, choice in choices.items() if choice == value), "")
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    default, asked = written(start.value), mo.query_params().get(name)

    def remember(value: Any) -> None:
        address = mo.query_params()
        for other in (name, *forgets):
            if other in address:
                address.remove(other)
        if written(value) != default:
            address.set(name, written(value))

    if asked is not None:
        try:
            return kind(*arguments, **options | {"value": _begun(start, bool(choices), asked)}, on_change=remember)
        except (KeyError, TypeError, ValueError):
            pass
    return kind(*arguments, **options, on_change=remember)


def _begun(control: Any, chooses: bool, asked: str) -> Any:
    """What the address asks of a control, as its `value`; raises where it cannot be read."""
    if isinstance(control.value, str) or (chooses and not isinstance(control.value, list)):
        return asked
    value = json.loads(asked)
    if type(value) in (int, float) and hasattr(control, "start"):
        return min(max(value, control.start), control.stop)
    if type(value) is not type(control.value):
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


def rule_sliders(base: Rules) -> tuple[Any, Any, Any]:
    """Sliders for p, τ and 1000 λ, at the rules' values where the address asks for no other."""
    import marimo as mo

    def slider(name: str, value: float, most: float, step: float, label: str) -> Any:
        return kept(mo.ui.slider, name, 0, most, step, value=min(value, most), label=label, show_value=True)

    return (
        slider("p", base.p, 1, 0.05, "near-miss weight p"),
        slider("tau", base.tau, 1000, 10, "free tokens τ"),
        slider("lam", 1000 * base.lam, 10, 0.5, "price of 1,000 tokens, 1000 λ"),
    )


def rules_set(base: Rules, p: float, tau: float, lam_of_1000: float) -> Rules:
    """The rules as the sliders stand; what was not moved stays unnamed in the rules' name."""
    wanted = {"p": p, "tau": tau, "lam": lam_of_1000 / 1000}
    return base.replace(**{name: value for name, value in wanted.items() if value != getattr(base, name)})


def pool_controls(scores: Sequence[ConversationScores], asked: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Menus of domain, measure, pool and the leaves left out, as the address asks for; it follows what is chosen."""
    import marimo as mo

    def remember(name: str) -> Any:
        return lambda value: mo.query_params().set(name, _written(value))

    names = list(dict.fromkeys(score.assistant for score in scores))
    domains = list(dict.fromkeys(score.domain for score in scores))
    scopes = [ALL, *domains] if len(domains) > 1 else [ALL]
    labels = [measure.label for measure in MEASURES]
    pool = [name for name in names if name in _listed(asked.get("pool"), names)]
    leaves = {"none of the assistants": "none", "all of the assistants": "all"}
    leave = next((label for label, value in leaves.items() if value == asked.get("leave_out")), next(iter(leaves)))
    return (
        mo.ui.dropdown(
            scopes,
            value=asked["domain"] if asked.get("domain") in scopes else ALL,
            label="Domain",
            on_change=remember("domain"),
        ),
        mo.ui.dropdown(
            {measure.label: measure.name for measure in MEASURES},
            value=asked["measure"] if asked.get("measure") in labels else labels[0],
            label="Measure",
            on_change=lambda value: mo.query_params().set("measure", MEASURE[value].label),
        ),
        mo.ui.multiselect(names, value=pool or names, label="Pool", on_change=remember("pool")),
        mo.ui.dropdown(leaves, value=leave, label="Leave out leaves satisfied by", on_change=remember("leave_out")),
    )


def pool_row(scope: Any, measure: Any, pool: Any, leave_out: Any) -> Any:
    """These menus next to each other; that of the domain only where there are several."""
    import marimo as mo

    domain = [scope] if len(scope.options) > 1 else []
    return mo.hstack([*domain, measure, pool, leave_out], justify="start", align="center", gap=1.5, wrap=True)


def address_of(page: str, run: str, **values: Any) -> str:
    """The address of another page of this workbench with the same run and these values."""
    written = {name: _written(value) for name, value in values.items()}
    return f"/?{urlencode({'file': page, 'run': run, **written})}"


def _written(value: Any) -> Any:
    """A list as one value, without blanks: of several values of a name a page would be told the last alone."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value


def _listed(text: str | None, otherwise: list[str]) -> list[str]:
    try:
        names = json.loads(text or "")
    except ValueError:
        return otherwise
    return names if isinstance(names, list) else otherwise
