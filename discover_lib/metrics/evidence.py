"""The `discover://` id of every number in a results file; `runs.resolve` finds the stored data behind an id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discover_lib.base.ids import DiscoverId
from discover_lib.metrics.results import ALL, MEASURE, ScopeResults

# Measures without a column.
CEILING = "ceiling"  # per artifact
BROKEN = "broken"  # replies that broke a model's notation, and all of them


def ids_of_results(scopes: Iterable[ScopeResults], run: DiscoverId) -> dict[str, str]:
    """The origin of the numbers under `scopes` and `ceilings` in a results file: JSON pointer → id.

    The id of the longest pointer that leads to a number is its id.
    """
    ids: dict[str, str] = {}

    def stands_on(id: DiscoverId, *path: str | int) -> None:
        ids.update(ids_at(id, *path))

    for place, scope in enumerate(scopes):
        whole = run if scope.scope == ALL else replace(run, domain=scope.scope)
        within = ("scopes", place)
        stands_on(whole, *within)
        of = {name: replace(whole, measure=measure.label) for name, measure in MEASURE.items()}
        stands_on(replace(whole, measure=CEILING), "ceilings", scope.scope)
        for path, name in (
            ("same_for_all", "discovery"),
            ("leaves", "satisfaction"),
            ("leaves_counted", "satisfaction"),
        ):
            stands_on(of[name], *within, path)
        for name, id in of.items():
            stands_on(id, *within, "users_of", name)
            for at, pair in enumerate(scope.comparisons.get(name, ())):
                compared = replace(id, assistants=pair.ours, against=pair.theirs)
                stands_on(compared, *within, "comparisons", name, at)
        for at, smaller in enumerate(scope.pools):
            id = replace(of["discovery"], pool=tuple(smaller.means))
            stands_on(id, *within, "pools", at)
            for who in smaller.means:
                stands_on(replace(id, assistants=who), *within, "pools", at, "means", who)
        for who in scope.assistants:
            for name in scope.table[who]:
                stands_on(replace(of[name], assistants=who), *within, "table", who, name)
            for turn in range(1, len(scope.curves[who]) + 1):
                id = replace(of["proportion"], assistants=who, turn=turn)
                stands_on(id, *within, "curves", who, turn - 1)
            for path, column in (("manners", "behaviour"), ("stops", "stop"), ("unscored",) * 2, ("leaks",) * 2):
                if path == "leaks" and who in (scope.unchecked or {}):
                    stands_on(replace(whole, assistants=who, measure=column), *within, "unchecked", who)
                stands_on(replace(whole, assistants=who, measure=column), *within, path, who)
    return ids


def ids_at(id: DiscoverId, *path: str | int) -> dict[str, str]:
    """The id under the JSON pointer (RFC 6901) that these parts make."""
    return {"".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path): str(id)}
