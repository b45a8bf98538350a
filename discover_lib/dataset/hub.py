"""A run as a folder for the Hub: a data set with its card, and every conversation as a session that its viewer shows.

`sessions/` holds one file a conversation in the Hub's Session Traces Format: a header line, then a line per message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.files import whole_file, write_lines
from discover_lib.base.ids import DiscoverId
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.export import beware, table
from discover_lib.dataset.inspect_log import was_judged
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.resolve import id_of
from discover_lib.runs.store import RunStore, id_of_run

DATA = "data/conversations.jsonl"
HARNESS = "discover"
COLUMNS = {
    "id": "artifact, trial and assistants",
    "discover_id": "the origin of the row's numbers: `discover show` opens it where the run is",
    "artifact, domain, trial, assistants, seed, rules, stop": "which conversation it is, and why it ended",
    "messages": "role and content, the user's opening first",
    "rewards": "of every turn; null where it is unscored",
    "discovered": "hidden intents that were discovered; null: unscored",
    "share": "share of the hidden intents that the user discovered; null: unscored",
    "tokens, leaks": "of all replies, and user messages that leaked a hidden intent",
}


def write_folder(folder: Path, store: RunStore) -> int:
    """Write the finished conversations of a run; returns how many."""
    count, run = 0, id_of_run(store.path.parent)

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal count
        for talk in store.conversations():
            row = conversation_row(talk, run)
            name = re.sub(r"[^\w.-]+", "_", row["id"])
            write_lines(folder / "sessions" / f"{count:06d}-{name}.jsonl", _session(row))
            count += 1
            yield row

    write_lines(folder / DATA, rows())
    with whole_file(folder / "README.md") as card:
        card.write(_card(store.configuration, count))
    return count


def conversation_row(talk: Conversation, run: DiscoverId) -> dict[str, Any]:
    """A conversation of a run as one row: its origin, its messages and its numbers."""
    setting, scores = talk.setting, scores_of(talk, 0)
    judged = was_judged(talk)
    return {
        "id": f"{setting['artifact']}/{setting['trial']}/{scores.assistant}",
        "discover_id": str(id_of(run, scores)),
        "artifact": setting["artifact"],
        "domain": scores.domain,
        "trial": setting["trial"],
        "assistants": list(setting["assistants"]),
        "seed": str(talk.seed),  # of 63 bits, more than some readers of JSON keep
        "rules": talk.rules.name,
        "stop": talk.stop,
        "messages": [{"role": each.role, "content": each.content} for each in talk.messages()],
        "rewards": list(scores.rewards),
        "discovered": scores.discovered if judged else None,
        "share": scores.share_discovered if judged else None,
        "tokens": sum(scores.tokens),
        "leaks": scores.known_leaks,
    }


def _session(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    about = {key: value for key, value in row.items() if key != "messages"}
    header = {"type": "session", "harness": HARNESS, "name": row["messages"][0]["content"], **about}
    return [header, *({"type": "message", "message": message} for message in row["messages"])]


def _card(configuration: Mapping[str, Any], count: int) -> str:
    engine = configuration.get("engine") or {}
    assistants = ", ".join(f"`{name}`" for name in configuration.get("assistants", ())) or "see the rows"
    return f"""---
pretty_name: Conversations with simulated users
tags: [intent-discovery, simulated-users, format:agent-traces]
configs:
- config_name: default
  data_files:
  - split: train
    path: {DATA}
---

# Conversations with simulated users

{count} conversations of assistants ({assistants}) with simulated users, who find out what they want as they see options
(after *DiscoverLLM*, arXiv 2602.03429). {beware(str(engine.get("judge", "")), str(engine.get("voice", "")))}

{table(("column", "meaning"), COLUMNS.items())}
`sessions/` has the same conversations in the Session Traces Format, one file each.
"""
