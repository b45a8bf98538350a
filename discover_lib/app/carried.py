"""Controls whose choices travel from page to page in the address: the rules of labels, and the pool of an evaluation.

marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from discover_lib.core.rules import Rules
from discover_lib.metrics.rescore import NAMED_RULES
from discover_lib.metrics.results import ALL, MEASURE, MEASURES
from discover_lib.metrics.scores import ConversationScores

OWN = "the run’s own"


def rules_menu(label: str, asked: str | None = None, *, own: bool = False) -> Any:
    """Named rules; with `own` those of the run come first."""
    import marimo as mo

    names = [*([OWN] if own else []), *NAMED_RULES]
    return mo.ui.dropdown(names, value=asked if asked in names else names[0], label=label)


def base_rules(name: str, own: Rules) -> Rules:
    """The rules chosen in the menu, with tokens counted in the run's unit."""
    return own if name == OWN else NAMED_RULES[name]().replace(token_unit=own.token_unit)


def rule_sliders(base: Rules, asked: Mapping[str, Any] | None = None) -> tuple[Any, Any, Any]:
    """Sliders for p, τ and 1000 λ, at the rules' values where the address asks for no other."""
    import marimo as mo

    def slider(name: str, value: float, most: float, step: float, label: str) -> Any:
        wanted = _number((asked or {}).get(name), value)
        return mo.ui.slider(0, most, step, value=min(max(wanted, 0), most), label=label, show_value=True)

    return (
        slider("p", base.p, 1, 0.05, "p, near-miss weight"),
        slider("tau", base.tau, 1000, 10, "τ, free tokens"),
        slider("lam", 1000 * base.lam, 10, 0.5, "1000 λ, price of 1000 tokens"),
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


def _number(text: Any, otherwise: float) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return otherwise
