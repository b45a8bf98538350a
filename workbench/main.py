"""The `discover` command: the library's commands, and those that show something in a browser."""

from __future__ import annotations

from discover_lib.cli.main import COMMANDS as LIBRARY
from discover_lib.cli.main import Entry, command_line
from discover_lib.cli.main import main as begin

PACKAGE = "workbench.commands"
OWN = {
    "open": Entry(PACKAGE, "open", "open_workbench", "Serve the notebooks on localhost."),
    "demo": Entry(
        PACKAGE,
        "demo",
        "demo",
        "Run one conversation end to end, print it turn by turn, and save it as a page to scrub through.",
    ),
    "miniature": Entry(
        PACKAGE,
        "miniature",
        "miniature",
        "The whole paper in miniature: data, trained variants, evaluation, generalisation, and a report.",
    ),
    "study": Entry(
        PACKAGE,
        "study",
        "study",
        "A study with people from one file: check, serve, rehearse with simulated participants, export, report.",
    ),
    "site": Entry(
        PACKAGE,
        "pages",
        "site",
        "Write the story and the simulator as static pages that run the library in the browser: no server, no network.",
    ),
    "share": Entry(
        PACKAGE,
        "pages",
        "share",
        "Write a run's conversations and tables, or a session, as one page: it opens from disk and needs no network.",
    ),
}


# In the order in which people meet them.
COMMANDS = {name: (OWN | LIBRARY)[name] for name in ("open", "doctor", "demo", *LIBRARY, *OWN)}
app = command_line(COMMANDS)


def main() -> None:
    """Entry point."""
    begin(app)


if __name__ == "__main__":
    main()
