"""Do the paper's own figures follow from each other?  Its printed tables, checked against each other.

`data/paper/tables.yaml` holds only the printed numbers.  Every derived number is recomputed here from them
and compared with the printed one, up to rounding: a printed figure follows if some numbers that round to the printed
cells give a result that rounds to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from discover_lib.base.files import data_folder
from discover_lib.tasks.waist import Asked, Cell, How, Lines, Mark, Report, Table, Tell, Tone, ask, task

METRICS = ("discover", "satisfy", "interact", "kilotokens")

Verdict = Literal["follows", "does not follow", "left open"]


# -- the desk ---------------------------------------------------------------------------------------------------------

TONES: dict[Verdict, Tone] = {"follows": "good", "does not follow": "bad", "left open": "open"}


class PaperNumbers(Asked, frozen=True):
    all: Annotated[bool, ask("Also print the numbers that agree.")] = False


@task(
    "paper_numbers",
    "Recompute the paper's printed numbers from each other, and show which agree and which do not.",
    keeps=False,
)
def paper_numbers(asked: PaperNumbers, how: How, folder: Path, tell: Tell) -> Report:
    checks = paper_checks()
    shown = [each for each in checks if asked.all or each.verdict != "follows"]
    rows: list[tuple[Cell, ...]] = [
        (*each.row()[:4], Mark(each.verdict, TONES[each.verdict]), each.row()[5]) for each in shown
    ]
    of = Counter(each.verdict for each in checks)
    figures = f"{of['follows']} follow, {of['does not follow']} do not, {of['left open']} are left open"
    parts = (
        Table(CHECK_COLUMNS, tuple(rows), "printed in the paper, recomputed from its other figures"),
        Lines((f"{len(checks)} figures: {figures}",)),
    )
    return Report(parts, [dict(zip(CHECK_COLUMNS, each.row(), strict=True)) for each in checks])


# -- the checks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One printed figure that follows from other printed ones, or does not, or is left open by the paper.

    Attributes:
        what: the figure in words; `table` names its table.
        printed: in `unit`; of a sum of shares the 100 that it should be.
        computed: in `unit`; None where the printed rule gives no number.
        low, high: the results that the printed cells allow, given their rounding.
        formula: how it was recomputed, with the numbers.
        note: an explanation of the difference, or "".
    """

    table: str
    what: str
    printed: float
    computed: float | None
    low: float | None
    high: float | None
    unit: str
    formula: str
    verdict: Verdict
    note: str = ""

    def row(self) -> tuple[str, ...]:
        """As the cells of a table: table, figure, printed, recomputed, verdict, how."""
        computed = "cannot be computed" if self.computed is None else self._with_unit(self.computed)
        how = f"{self.formula}; {self.note}" if self.note else self.formula
        return (self.table, self.what, self._with_unit(self.printed), computed, self.verdict, how)

    def _with_unit(self, value: float) -> str:
        """A figure with its unit; a percent sign follows without a space."""
        return f"{_short(value)} {self.unit}".strip().replace(" %", "%")


CHECK_COLUMNS = ("table", "figure", "printed", "recomputed", "verdict", "how")


@cache
def paper_tables() -> Mapping[str, Any]:
    """The printed numbers, by table.

    Raises:
        OSError: the data folder is not there.
    """
    return yaml.safe_load((data_folder() / "paper" / "tables.yaml").read_text(encoding="utf-8"))


def paper_checks() -> list[Check]:
    """Every printed figure that other printed figures decide, recomputed."""
    tables = paper_tables()
    unseen = tables["generalization"]
    return [
        *_gains(),
        *_token_gains(),
        *_counts(tables["table_3"]),
        *_sums(tables),
        check_gain("page", "gain in discover, all unseen types", unseen["baseline"], unseen["best"], unseen["gain"]),
    ]


# -- the checks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MainRow:
    """One base model on one task: model → its cells in the order of `METRICS`, and the printed gains."""

    base: str
    task: str
    baselines: Mapping[str, Sequence[float]]
    variants: Mapping[str, Sequence[float]]
    gain: Sequence[float]

    def best(self, models: Mapping[str, Sequence[float]], place: int) -> float:
        return max(cells[place] for cells in models.values())


def main_rows() -> list[MainRow]:
    """Table 1, block by block."""
    table = paper_tables()["table_1"]
    rows = []
    for row in table["rows"]:
        models = row["models"]
        baselines = {name: cells for name, cells in models.items() if name in table["baselines"]}
        variants = {name: cells for name, cells in models.items() if name not in baselines}
        rows.append(MainRow(row["base"], row["task"], baselines, variants, row["gain"]))
    return rows


def _gains() -> Iterator[Check]:
    """Gains of discovery, satisfaction and interactivity: best variant against best baseline, metric by metric."""
    for row in main_rows():
        for place, metric in enumerate(METRICS[:3]):
            what = f"gain in {metric}, {row.base}, {row.task}"
            old, new = row.best(row.baselines, place), row.best(row.variants, place)
            yield check_gain("1", what, old, new, row.gain[place])


def check_gain(table: str, what: str, baseline: float, best: float, printed: float) -> Check:
    """Whether a printed relative gain (percent) follows from two cells printed with one decimal."""
    computed = 100 * (best - baseline) / baseline
    low = 100 * ((best - 0.05) / (baseline + 0.05) - 1)
    high = 100 * ((best + 0.05) / (baseline - 0.05) - 1)
    formula = f"({best} − {baseline}) / {baseline}"
    half = 0.5 if printed >= 100 else 0.05  # from 100 on they are printed without decimals
    verdict, note = _verdict(printed, half, low, high), ""
    by_new = 100 * (best - baseline) / best
    if verdict == "does not follow" and abs(by_new - printed) <= half + 0.1:
        note = f"it follows if one divides by the new value: ({best} − {baseline}) / {best} = {by_new:.1f}%"
    elif computed < 0:
        note = "in the printed cells the baseline is ahead"
    return Check(table, what, printed, computed, low, high, "%", formula, verdict, note)


def _verdict(printed: float, half: float, low: float, high: float) -> Verdict:
    slack = half + 1e-9
    return "follows" if low - slack <= printed <= high + slack else "does not follow"


def _token_gains() -> Iterator[Check]:
    """Savings of tokens by the caption's rule.

    It compares the variant with the lowest discovery that still beats all baselines with the best baseline.
    """
    for row in main_rows():
        printed, top = row.gain[3], row.best(row.baselines, 0)
        baseline, *ties = [name for name, cells in row.baselines.items() if cells[0] == top]
        old = row.baselines[baseline][3]
        what = f"tokens saved, {row.base}, {row.task}"
        savings = {name: _saving(old, cells[3]) for name, cells in row.variants.items()}
        shown = [name for name, ends in savings.items() if _verdict(printed, 0.05, *ends) == "follows"]
        beating = [name for name, cells in row.variants.items() if cells[0] > top]
        note = f"the printed figure is that of {' or '.join(shown)}" if shown else ""
        tied = f"; {' and '.join(ties)} {'has' if len(ties) == 1 else 'have'} the same discovery" if ties else ""
        if not beating:
            formula = f"no variant is above {baseline}'s {top} in discovery, so the caption's rule picks none"
            yield Check("1", what, printed, None, None, None, "%", formula, "does not follow", note)
            continue
        picked = min(beating, key=lambda name: row.variants[name][0])
        new, (low, high) = row.variants[picked][3], savings[picked]
        verdict = _verdict(printed, 0.05, low, high)
        formula = f"({old} − {new}) / {old}: {baseline} against {picked}, by the caption's rule{tied}"
        computed = 100 * (old - new) / old
        yield Check("1", what, printed, computed, low, high, "%", formula, verdict, "" if picked in shown else note)


def _saving(old: float, new: float) -> tuple[float, float]:
    """The least and the most percent saved between two cells printed with two decimals."""
    return 100 * (1 - (new + 0.005) / (old - 0.005)), 100 * (1 - (new - 0.005) / (old + 0.005))


def _counts(table: Mapping[str, Any]) -> Iterator[Check]:
    """Table 3: turns against artifacts, and shares of wins against their sum."""
    for place, kind in enumerate(table["columns"]):
        artifacts, turns = table["artifacts"][place], table["turns"][place]
        most = artifacts * table["turns_per_conversation"]
        left = f"{most - turns} fewer than the most: conversations that ended early" if turns < most else ""
        formula = f"at most {artifacts} × {table['turns_per_conversation']}"
        yield Check("3", f"turns, {kind}", turns, most, 0, most, "", formula, _verdict(turns, 0, 0, most), left)
        wins = [shares[place] for shares in table["wins"].values()]
        total, slack = sum(wins), 0.05 * len(wins)
        low, high = total - slack, total + slack
        fits = _verdict(100, 0, low, high) == "follows"
        note = "" if fits else f"{100 - total:.1f}% of the turns have no winner, perhaps ties; the table does not say"
        what, formula = f"all wins together, {kind}", " + ".join(map(str, wins))
        yield Check("3", what, 100.0, total, low, high, "%", formula, "follows" if fits else "left open", note)


def _sums(tables: Mapping[str, Any]) -> Iterator[Check]:
    cost, study = tables["cost"], tables["study"]
    yield _sum("cost", "dollars per conversation", cost["total"], (cost["tree"], cost["simulation"]), "$", 0.0005)
    yield _sum("study", "people", study["people"], (study["women"], study["men"]), "", 0)


def _sum(table: str, what: str, printed: float, parts: Sequence[float], unit: str, half: float) -> Check:
    """Whether a printed sum follows from its parts, each printed to within `half`."""
    total, slack = sum(parts), half * len(parts)
    low, high = total - slack, total + slack
    formula = " + ".join(map(str, parts))
    return Check(table, what, printed, total, low, high, unit, formula, _verdict(printed, half, low, high))


def _short(value: float) -> str:
    """At most three decimals, and no more than are needed."""
    digits = f"{abs(value):,.{3 if abs(value) < 1 else 2}f}".rstrip("0").rstrip(".")
    return f"−{digits}" if value < 0 and digits != "0" else digits
