"""`discover audit`: can a run's simulated user be trusted?  The desks leaks, certify and agree, one after the other.

Registered in `discover_lib.cli.command_list`, which turns the errors that a person can mend into one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_json
from discover_lib.cli.common import at_terminal, console, flags_of, with_flags, writable_file
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.agreement import moments_of
from discover_lib.runs.store import RunStore
from discover_lib.tasks import corpus
from discover_lib.tasks.agree import Agree, agree, write_label_sheet
from discover_lib.tasks.certify import Certify, certify, told, trust_in
from discover_lib.tasks.leaks import UNFINISHED, Leaks, finished_conversations, leaks
from discover_lib.tasks.playing import Models
from discover_lib.tasks.waist import R, fields_of, read


@with_flags(more=flags_of(Certify, Agree, Models))
def audit_run(
    run: Annotated[Path | None, typer.Argument(help="Run folder.")] = None,
    planted: Annotated[bool, typer.Option("--corpus", help="Score the leak check itself on planted leaks.")] = False,
    validate: Annotated[
        bool, typer.Option("--certify", help="Run the reference assistants with this run's user.")
    ] = False,
    label_sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a CSV for human labels, then stop.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all results as JSON.")] = None,
    **given: Any,
) -> None:
    """Check a run's user messages for leaks, validate its simulated user, and measure judge agreement.

    Exit code 1: not validated. Exit code 5: a user message has a leak.
    """

    def asked(record: type[R]) -> R:
        values = {**given, "run": run}
        return read(record, {each.name: values[each.name] for each in fields_of(record) if each.name in values})

    if run is None and not planted:
        raise DiscoverError("nothing to audit: give a run folder, or --corpus")
    questions = (asked(Leaks), asked(Certify), asked(Agree)) if run is not None else None
    if out is not None:
        writable_file(out)  # before a judge is paid
    result: dict[str, Any] = {}
    code = 0
    if planted:
        scored = corpus.told(corpus.score(corpus.load_corpus()))
        scored.print(console())
        result["corpus"] = scored.plain
    if questions is not None:
        leaking, certifying, agreeing = questions
        agreeing.role_options.check_names(())
        if label_sheet is not None:
            with RunStore.read(leaking.run) as store:
                talks = finished_conversations(store, agreeing.conversations)
            _write_sheet(talks, label_sheet)
            return
        how = asked(Models)
        found = at_terminal(leaks, leaking)
        result |= found.plain
        code = found.exit_code
        if found.exit_code != UNFINISHED:
            if validate:
                certified = at_terminal(certify, certifying, how)
            else:
                certified = told(trust_in(certifying.run))
                certified.print(console())
            result["certificate"] = certified.plain
            if agreeing.judge or agreeing.labels:
                result["agreement"] = at_terminal(agree, agreeing, how).plain
            code = max(code, certified.exit_code)
    if out is not None:
        write_json(out, result)
    raise typer.Exit(code)


def _write_sheet(talks: Mapping[str, Conversation], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = write_label_sheet(moments_of(talks), file)
    except OSError as error:
        raise DiscoverError(f"{path}: cannot be written ({error.strerror or error})") from None
    typer.echo(f"{rows} things to label in {len(talks)} conversations → {path}; read them back with --labels")
