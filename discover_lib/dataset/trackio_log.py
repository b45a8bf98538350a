"""A run as a project of trackio, whose dashboard then shows its numbers as curves and its conversations as chats."""

from __future__ import annotations

import contextlib
import io
import os
from itertools import groupby
from pathlib import Path

from discover_lib.core.conversation import Conversation
from discover_lib.dataset.formats import FormatError
from discover_lib.dataset.hub import conversation_row
from discover_lib.runs.store import RunStore, id_of_run

PROJECT = "discover"


def write_project(folder: Path, store: RunStore) -> int:
    """Write the finished conversations of a run into `folder`, a directory of trackio's; returns how many.

    Every assistant is a run of the project, every conversation one of its steps.

    Raises:
        FormatError: trackio is not here, or has begun to write elsewhere in this process.
    """
    os.environ["TRACKIO_DIR"] = str(folder)  # which it reads when it is imported
    try:
        import trackio
        from trackio.utils import TRACKIO_DIR
    except ImportError as error:
        line = f"writing for trackio needs it ({error}): pip install 'discover-lib[trackio]'"
        raise FormatError(line) from None
    if folder != TRACKIO_DIR:
        raise FormatError(f"trackio already writes to {TRACKIO_DIR} in this process; export in another one")
    count = 0
    talks = sorted(store.conversations(), key=_assistants)  # stable: of one assistant in the order of the plan
    with contextlib.redirect_stdout(io.StringIO()):  # it advertises its dashboard
        for name, group in groupby(talks, key=_assistants):
            trackio.init(PROJECT, name, embed=False, auto_log_gpu=False, auto_log_cpu=False)
            for step, talk in enumerate(group):
                row = conversation_row(talk, id_of_run(store.path.parent))
                trace = trackio.Trace(row.pop("messages"), metadata={"session_id": row["id"], **row})
                numbers = {key: row[key] for key in ("discovered", "share", "tokens", "leaks") if row[key] is not None}
                trackio.log({**numbers, "conversation": trace}, step=step)
                count += 1
            trackio.finish()
    return count


def _assistants(talk: Conversation) -> str:
    return "+".join(talk.setting["assistants"])
