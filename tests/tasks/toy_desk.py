"""A desk that counts, slowly and in a file, so that what was done twice shows."""

import time
from pathlib import Path
from typing import Annotated, Literal

from discover_lib.metrics.intervals import Estimate
from discover_lib.tasks.waist import Asked, Chart, How, Interval, Lines, Mark, Picture, Quote, Report, Table, ask, task

HALF = Estimate(0.5, 0.4, 0.6, 10, 10)


class Count(Asked, frozen=True):
    most: Annotated[int, ask("How far to count.", least=1, most=1000)] = 5
    names: Annotated[tuple[str, ...], ask("Who counts.")] = ()
    rules: Annotated[Literal["paper", "authors"], ask("Whose rules.")] = "paper"
    share: Annotated[float | None, ask("A share.", least=0, most=1)] = None


class Slowly(How, frozen=True):
    wait: Annotated[float, ask("Seconds a number.", least=0)] = 0.0


@task("count", "How far does it count?")
def count(asked: Count, how: Slowly, folder: Path, tell) -> Report:
    kept = folder / "kept.txt"
    done = len(kept.read_text().split()) if kept.exists() else 0
    for number in range(done, asked.most):
        tell(number, asked.most, "numbers")
        time.sleep(how.wait)
        with kept.open("a") as file:
            file.write(f"{number}\n")
    row = ("toy", Mark("held", "good"), Interval.of(HALF), Quote("a red dog", ((2, 5),)))
    dots = Chart.dots({"toy": HALF}, "share", to_one=True)
    table = Table(("who", "holds", "share", "said"), (row,) * 3, "rows", shown=2)
    parts = (Lines(("counted <b>",), "good"), dots, table, Picture("<svg/>", "a line that counts"))
    return Report(parts, {"counted": asked.most}, exit_code=3)
