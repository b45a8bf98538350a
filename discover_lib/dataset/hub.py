"""A run as a folder for the Hub: a data set with its card, and every conversation as a session that its viewer shows.

`sessions/` holds one file a conversation in the Hub's Session Traces Format: a header line, then a line per message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.files import whole_file, write_lines
from discover_lib.base.ids import DiscoverId
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.filters import REASONS
from discover_lib.dataset.inspect_log import was_judged
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.evaluation import id_of
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


# -- the card of a set of training rows --------------------------------------------------------------------------------

KINDS = {
    "sft": "supervised fine-tuning: whole conversations as they went, the best of each turn's candidates in them",
    "preference": "preference pairs: per turn the best and the worst of the candidates, judged in the same state",
    "prompt": "prompts for reinforcement learning: a conversation so far, and the simulated user at that point as JSON",
}
DATA_FILES = {"jsonl": "data/{split}.jsonl", "parquet": "data/{split}.parquet"}


def card(about: Mapping[str, Any]) -> str:
    """The card (Markdown with the front matter that dataset hubs read) of a row set.

    Args:
        about: the result of `discover_lib.dataset.export.description`.
    """
    parts = [
        _front_matter(about),
        f"# {about['kind']} rows\n",
        f"Rows for {KINDS[about['kind']]}. Users are simulated: a tree of intents, a judge and a voice "
        "(after *DiscoverLLM*, arXiv 2602.03429).\n",
        *(f"{line}\n" for line in dict.fromkeys(beware(run["judge"], run["voice"]) for run in about["runs"])),
        "## Rows\n",
        table(
            ("split", "rows", "artifacts"),
            ((split, each["rows"], each["artifacts"]) for split, each in about["splits"].items()),
        ),
        "No artifact is in two splits.\n",
        f"Trained on: {_code(about['columns']['trained_on'])}. "
        f"Everything else says where a row comes from: {_code(about['columns']['provenance'])}.\n",
        "## What was left out\n",
        _left_out(about),
        "## Where it comes from\n",
        *(_run(run) for run in about["runs"]),
        _choices(about),
    ]
    if about["table_3"]:
        head = ("", "mean ± sd over turns [95% interval over artifacts], or turns")
        parts += ["## Rewards of the conversations behind it\n", table(head, about["table_3"])]
    if about["length"]:
        parts += ["## Does length alone predict the label?\n", _length(about["length"])]
    return "\n".join(parts)


def _front_matter(about: Mapping[str, Any]) -> str:
    lines = ["---", f"pretty_name: {about['kind']} rows", "tags: [intent-discovery, simulated-users]"]
    if about["files"] in DATA_FILES:
        lines += ["configs:", "- config_name: default", "  data_files:"]
        for split in about["splits"]:
            lines += [f"  - split: {split}", f"    path: {DATA_FILES[about['files']].format(split=split)}"]
    return "\n".join([*lines, "---\n"])


def beware(judge: str, voice: str) -> str:
    """A warning about the judge and the user of the rows; "" as a name means unknown."""
    if judge == voice == MINIATURE:
        return (
            "**A miniature.** Users, judge and artifacts are those of a small self-contained world without language "
            "models. Good for learning how the method works and for testing a pipeline, not for training a product."
        )
    if not judge:
        return "Read from files made elsewhere: who judged, and under which rules, is not known here."
    return f"Judge ({judge}) and user ({voice}) are language models; their mistakes are in the labels."


def _left_out(about: Mapping[str, Any]) -> str:
    dropped = about["dropped"]
    rows = [("considered", about["considered"], "", "")]
    rows += [
        (reason, dropped.get(reason, 0), count, REASONS[reason])
        for reason, count in about["dropped_any_reason"].items()
    ]
    rows.append(("kept", about["kept"], "", ""))
    filters = ", ".join(f"{name} {value}" for name, value in about["filters"].items())
    return table(("", "examples", "holds for", "meaning"), rows) + (
        "\nAn example is counted by its first reason. The next column counts every reason that holds. All examples "
        f"are listed in `dropped.jsonl`. Filters: {filters}.\n"
    )


def _run(run: Mapping[str, Any]) -> str:
    prompts = ", ".join(f"{name} {sha[:12]}" for name, sha in run["prompts"].items()) or "none (no language model)"
    failures = ", ".join(f"{count} by the {role}" for role, count in run["failures_by_role"].items()) or "none"
    if not run["judge"]:
        return f"- rows of `{run['run']}`"
    return (
        f"- run `{run['run']}`: judge {run['judge']}, voice {run['voice']}, version {run['code_version']}; "
        f"failures: {failures}; prompts (SHA-256): {prompts}"
    )


def _choices(about: Mapping[str, Any]) -> str:
    options = about["options"]
    rules = ", ".join(f"{name} (`{key}`)" for key, name in about["rules"].items()) or "not known"
    lines = [
        f"- rules: {rules}"
        + ("; labels taken again under these from the stored judgements" if options["relabelled_under"] else ""),
        f"- assistant turns hold: {options['text_form']}",
        f"- system message: {options['system_policy']}",
        f"- lengths of rows: {options['length_counting']}; of replies, as rewarded: the column `counting`",
    ]
    if options["grpo_tau"] is not None:
        lines.append(f"- τ of the restored users: {options['grpo_tau']:g}")
    if options["system_text"]:
        lines += ["", *(f"> {line}" for line in options["system_text"].splitlines())]
    return "\n".join([*lines, ""])


def _length(report: Mapping[str, Any]) -> str:
    pairs, penalty = report["n_pairs"], report["by_penalty"]
    return (
        f"{report['sentence']} In {penalty} of {pairs} pairs both replies discover equally much, and the length "
        "penalty alone makes the label.\n"
    )


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Rows as a table in Markdown."""
    titles = list(head)
    lines: list[Iterable[object]] = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |\n" for line in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
