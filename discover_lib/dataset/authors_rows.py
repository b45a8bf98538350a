"""Dataset rows of the authors' released code: one row per candidate reply, with a score and the states that led there.

Read, the rows of a turn become one preference example of ours, labelled by their scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from discover_lib.base.errors import DiscoverError
from discover_lib.base.tokens import TokenCount
from discover_lib.core.conversation import Conversation
from discover_lib.core.simulator import DIGITS
from discover_lib.dataset.authors_format import Said, run_file
from discover_lib.dataset.export import RowSet, Source, row_set
from discover_lib.dataset.filters import Filters
from discover_lib.dataset.formats import Foreign, Number, json_lines, parse, read_json
from discover_lib.dataset.rows import SIMILARITY, Example, Origin, RowOptions, digest, pair_example, similarity_of

SAME_TURN = ("artifact_id", "conv_id", "turn_id", "source_dir")  # and the prompt: their conv_id is not unique


class Row(Foreign):
    """What every reader of a row needs."""

    artifact_id: str
    turn_id: Annotated[str, Meta(pattern=r"^[0-9]+$")]
    completion: str
    assistant_index: int
    prompt: list[Said]
    score: Number | None = None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file (a JSON array, or JSON lines), checked for what every reader of them needs.

    Raises:
        DiscoverError: naming the row and the field that is wrong.
    """
    if path.suffix == ".jsonl":
        listed = list(json_lines(path))
    else:
        rows = read_json(path)
        if not isinstance(rows, list):
            raise DiscoverError(f"{path}: the file must be a list, got {rows!r:.60}")
        listed = [(f"{path}: row {place}", row) for place, row in enumerate(rows)]
    for where, row in listed:
        parse(Row, row, where)
    return [row for _, row in listed]


def examples_of(
    rows: Sequence[Mapping[str, Any]], origin: Origin, tokens: TokenCount | None = None
) -> Iterator[Example]:
    """One preference example per turn, in the order of first appearance: highest against lowest score.

    A tie at the top is the first, at the bottom the last.  A score that is missing or null was not judged.
    """
    turns: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        turns.setdefault(digest([row.get(name) for name in SAME_TURN] + [row["prompt"]]), []).append(row)
    for candidates in turns.values():
        yield _example(candidates, origin, tokens or TokenCount())


def _example(candidates: Sequence[Mapping[str, Any]], origin: Origin, tokens: TokenCount) -> Example:
    first = candidates[0]
    prompt = [dict(message) for message in first["prompt"]]
    known: dict[str, Any] = {
        "run": origin.run,
        "artifact": first["artifact_id"],
        "turn": int(first["turn_id"]),
        "n_candidates": len(candidates),
        "label_source": "score in the authors' rows",
    }
    scored = [row for row in candidates if row.get("score") is not None]
    if len(scored) < 2:
        problem = "one_candidate" if len(candidates) < 2 else "failed_judgement"
        return Example("preference", first["artifact_id"], {}, known, problem=problem)
    best = max(scored, key=lambda row: row["score"])
    worst = min(reversed(scored), key=lambda row: row["score"])
    margin = float(best["score"] - worst["score"])
    chosen, rejected = ([{"role": "assistant", "content": row["completion"]}] for row in (best, worst))
    for name, row in (("chosen", best), ("rejected", worst)):
        known |= {f"{name}_index": row["assistant_index"], f"{name}_reward": float(row["score"])}
        known[f"{name}_tokens"] = tokens.count([{"role": "assistant", "content": row["completion"]}])
    known |= {
        "margin": margin,
        "similarity": similarity_of(best["completion"], worst["completion"]),
        "similarity_measure": SIMILARITY,
        "n_tokens": max(tokens.count(prompt + reply) for reply in (chosen, rejected)),
        "length_counting": tokens.name,
    }
    train = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    return pair_example(first["artifact_id"], train, known, "tie" if round(margin, DIGITS) == 0 else None)


def row_set_of(path: Path, filters: Filters | None = None, tokens: TokenCount | None = None) -> RowSet:
    """Their rows as preference rows of ours, ready for `discover_lib.dataset.export.write_rows`.

    Raises:
        DiscoverError: a row that cannot be read.
        DiscoverError: no pair is left.
    """
    tokens = tokens or TokenCount()
    origin = Origin(path.name)
    made = examples_of(read_rows(path), origin, tokens)
    return row_set("preference", made, [Source(origin, ())], RowOptions(tokens=tokens), filters)


def rows_of_conversation(conversation: Conversation) -> list[dict[str, Any]]:
    """A conversation of ours as the authors' dataset builder would give it: one row per candidate.

    Their score is our reward under the conversation's rules; a reply whose judgement failed has None.
    """
    whole = run_file(conversation)
    setting = conversation.setting
    return [
        {
            "artifact_id": str(setting.get("artifact", "")),
            "conv_id": f"{setting.get('artifact', '')}/{setting.get('trial', 0)}",
            "turn_id": str(turn.index),
            "assistant_index": place,
            "prompt": whole["conversation"][: 2 * turn.index - 1],
            "completion": candidate.reply.text,
            "score": candidate.reward.total if candidate.reward else None,
            "criteria_history": whole["criteria_history"][: turn.index],
        }
        for turn in conversation.turns
        for place, candidate in enumerate(turn.candidates)
    ]
