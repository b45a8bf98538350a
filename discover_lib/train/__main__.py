"""The process of a training run: `python -m discover_lib.train FOLDER`, started by `training_job.start`."""

from __future__ import annotations

import sys
from pathlib import Path

from discover_lib.train.training_job import work_on


def main() -> int:
    """Exit code 0 for a run that finished or was stopped on request."""
    status = work_on(Path(sys.argv[1]), lambda line: print(line, flush=True))
    return 0 if status.state in ("finished", "stopped") else 1


if __name__ == "__main__":
    sys.exit(main())
