"""Where the repository's input and output folders are.

`data_folder()` is read and never written; `outputs_folder()` holds runs and sessions and can be deleted.  Both lie
beside the package in a checkout; the variables DISCOVER_DATA and DISCOVER_OUTPUTS name other places.
"""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """The folder of artifacts and recorded conversations; it may not exist where only the package is installed."""
    return Path(os.environ.get("DISCOVER_DATA") or REPOSITORY / "data")


def outputs_folder() -> Path:
    """The folder that runs and sessions are written to; made by whoever writes first."""
    return Path(os.environ.get("DISCOVER_OUTPUTS") or REPOSITORY / "outputs")
