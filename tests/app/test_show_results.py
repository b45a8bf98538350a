"""What `discover evaluate` prints below its table."""

import dataclasses

from scored import scores_where

from discover_lib.app.cli.show import _remarks
from discover_lib.metrics.results import ALL, results_by_scope


def test_what_lacks_a_measure_is_told_by_the_heading_of_its_column() -> None:
    talks = scores_where({"a": [0], "b": [1]}, {"a": 100, "b": 100}, 3)
    one_empty = [dataclasses.replace(each, moves={}) if each.artifact == "a2" else each for each in talks]
    lines = list(_remarks(results_by_scope(one_empty)[ALL], "none"))
    assert "found: taken over 2 users; 1 lacks it for at least one assistant" in lines
    assert not any(line.startswith("proportion") for line in lines)
