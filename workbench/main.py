"""The `discover` command: the library's commands, and those that show something in a browser."""

from __future__ import annotations

import gc

gc.set_threshold(100_000, 20, 20)  # before the imports: by default the search for cycles takes a tenth of the start

from discover_lib.cli.command_list import CHECKS, SHARING, START, TRAINING, Entry, command_line  # noqa: E402
from discover_lib.cli.command_list import COMMANDS as LIBRARY  # noqa: E402
from discover_lib.cli.command_list import main as begin  # noqa: E402

OWN = {
    "open": Entry(
        "workbench.commands.open:open_workbench", START, "Open the notebooks in your browser.", "open --port 2718"
    ),
    "demo": Entry(
        "workbench.commands.demo:demo",
        START,
        "Run one conversation and save a web page.",
        "demo --domain svg_drawing --seed 3",
    ),
    "miniature": Entry(
        "workbench.commands.miniature:miniature",
        TRAINING,
        "Reproduce the whole paper at small scale.",
        "miniature --quick",
    ),
    "study": Entry("workbench.commands.study:study", CHECKS, "Run a user study with people."),
    "share": Entry(
        "workbench.commands.page_commands:share",
        SHARING,
        "Save a run or session as HTML.",
        "share outputs/mine --out mine.html",
    ),
    "site": Entry("workbench.commands.page_commands:site", SHARING, "Build the static website.", "site --out site"),
}
COMMANDS = {name: (OWN | LIBRARY)[name] for name in ("open", "demo", "doctor", *LIBRARY, *OWN)}
app = command_line(COMMANDS)


def main() -> None:
    """Entry point."""
    begin(app)


if __name__ == "__main__":
    main()
