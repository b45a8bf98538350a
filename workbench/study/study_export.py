"""A study as files that can be given out: tables with a codebook, and a run that opens like any other."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.cells import FORMULA, harmless_row
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, write_text_lines
from discover_lib.base.personal import personal_data
from discover_lib.core.conversation import Reply
from discover_lib.core.rules import Rules
from discover_lib.engines.spec import RoleEngines
from discover_lib.runs.people import Chat, Written, write_people
from workbench.study import attrition
from workbench.study.design import Study
from workbench.study.desk import EXPORTED, RUN, Desk
from workbench.study.study_report import Finished, finished

Personal = Literal["refuse", "redact", "keep"]
COLUMNS = {
    "participant": "a name that cannot be traced back to the person",
    "simulated": "1 for a simulated participant",
    "version": "of the study file",
    "task": "the task that was drawn",
    "topic": "the topic that was chosen",
    "condition": "label of the condition",
    "place": "1 for the first conversation of a participant",
    "slot": "place in the drawn order of assignment",
    "exchanges": "messages that were answered",
    "minutes": "from the first message to the final answers",
    "words": "mean words of a participant's message",
    "reply_words": "words of all replies as they were shown, separated by blanks",
    "reply_tokens": "tokens of all replies as their assistants count them; scripted ones count their notation, not the "
    "text that was shown",
    "pasted": "times that text was pasted",
    "left": "times that the page lost the focus",
    "failures": "replies that failed and were asked for again",
}
MESSAGES = {
    "participant": COLUMNS["participant"],
    "place": COLUMNS["place"],
    "turn": "1 for the first exchange",
    "role": "user or assistant",
    "text": "the message; personal data replaced where that was asked for",
    "seconds": "since the conversation's first message",
}
RATINGS = {
    "participant": COLUMNS["participant"],
    "place": COLUMNS["place"],
    "after": "exchanges that it follows",
    "rating": "the number; empty where it was not given",
}


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    participants: int
    written: Written


def find_personal(rows: Iterable[Finished]) -> list[tuple[Finished, str, str]]:
    """What looks like personal data in the texts of people who finished: (whose, kind, the stretch)."""
    return [(row, found.kind, found.text) for row in rows for text in _texts_of(row) for found in personal_data(text)]


def _texts_of(row: Finished) -> list[str]:
    final = row.round.final or {}
    said = [exchange.said["text"] for exchange in row.round.exchanges]
    return [*said, *final.get("texts", {}).values(), final.get("text", "")]


def export_study(desk: Desk, engines: RoleEngines, judge: str, personal: Personal = "refuse") -> Exported:
    """Write `export/` beside the participants: the tables and their codebook; and `run/`, the conversations.

    Raises:
        DiscoverError: something looks like personal data and nobody said what to do with it; or nobody has finished.
    """
    rows = list(finished(desk))
    if not rows:
        raise DiscoverError(f"{desk.folder}: nobody has finished yet")
    found = find_personal(rows) if personal == "refuse" else []
    if found:
        seen = "; ".join(f"{desk.pseudonym(row.code)}: {kind} “{text}”" for row, kind, text in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise DiscoverError(
            f"this looks like personal data: {seen}{more}; look, then give --personal redact or --personal keep"
        )
    clean = redacted if personal == "redact" else str
    folder = desk.folder / EXPORTED
    _write(folder / "participants.csv", [*COLUMNS, *_answers(desk.study)], [_row(desk, row, clean) for row in rows])
    _write(folder / "messages.csv", MESSAGES, [line for row in rows for line in _messages(desk, row, clean)])
    _write(folder / "ratings.csv", RATINGS, [line for row in rows for line in _ratings(desk, row)])
    _write(folder / "attrition.csv", attrition.COLUMNS, attrition.attrition_rows(desk))
    write_text_lines(folder / "codebook.md", codebook_lines(desk.study))
    chats = [chat_of(desk, row, clean) for row in rows]
    run = desk.folder / RUN
    shutil.rmtree(run, ignore_errors=True)
    written = write_people(run, chats, engines, name=desk.study.name, judge=judge, rules=Rules.paper())
    return Exported(folder, len({row.code for row in rows}), written)


def redacted(text: str) -> str:
    """The text with what looks like personal data replaced by its kind."""
    for found in personal_data(text):
        text = text.replace(found.text, f"[{re.sub('^an? ', '', found.kind)}]")
    return text


def chat_of(desk: Desk, row: Finished, clean: Any = str) -> Chat:
    """The conversation as a record of a run: whose text was kept, else the last piece that was made, counts as such."""
    progress, round = row.progress, row.round
    task, final = desk.study.tasks[progress.task], round.final or {}
    exchanges = [exchange for exchange in round.exchanges if exchange.reply]
    replies = tuple(
        Reply(each.reply["text"], each.reply["tokens"], each.reply["counting"], notation=each.reply.get("notation"))
        for each in exchanges
        if each.reply
    )
    return Chat(
        id=f"{desk.pseudonym(row.code)}-{row.place + 1}",
        assistant=round.arm,
        messages=tuple(clean(each.said["text"]) for each in exchanges),
        replies=replies,
        text=clean(final.get("text") or last_piece([reply.text for reply in replies])),
        artifact_type=task.type,
        domain=task.domain,
        topic=progress.topic,
        more={
            "study": desk.study.name,
            "version": desk.study.version,
            "simulated": progress.simulated,
            "model": desk.study.conditions[round.arm].assistant,
            "ratings": row.ratings(),
        },
    )


def last_piece(replies: Sequence[str]) -> str:
    """The last reply that is a piece and no remark on one: at least half as long as the longest."""
    longest = max(map(len, replies))
    return next(reply for reply in reversed(replies) if 2 * len(reply) >= longest)


def _answers(study: Study) -> dict[str, str]:
    """The columns of a study's own questions."""
    scales = {
        name: f"{scale.question} 1 = {scale.low}, {scale.points} = {scale.high}; empty: rather not said"
        for name, scale in study.final.scales.items()
    }
    return scales | {name: text.question for name, text in study.final.texts.items()}


def _row(desk: Desk, row: Finished, clean: Any) -> dict[str, Any]:
    progress, round, final = row.progress, row.round, row.round.final or {}
    said = [exchange.said for exchange in round.exchanges]
    replies = [exchange.reply for exchange in round.exchanges if exchange.reply]
    watched = [*said, final]
    values = {
        "participant": desk.pseudonym(row.code),
        "simulated": int(progress.simulated),
        "version": (progress.first("arrived") or {}).get("version"),
        "task": progress.task,
        "topic": progress.topic,
        "condition": round.arm,
        "place": row.place + 1,
        "slot": progress.slot,
        "exchanges": len(replies),
        "minutes": f"{(final['at'] - said[0]['at']) / 60:.1f}",
        "words": f"{sum(len(each['text'].split()) for each in said) / len(said):.1f}",
        "reply_words": sum(len(reply["text"].split()) for reply in replies),
        "reply_tokens": sum(reply["tokens"] for reply in replies),
        "pasted": sum(each.get("pasted", 0) for each in watched),
        "left": sum(each.get("left", 0) for each in watched),
        "failures": sum(exchange.failures for exchange in round.exchanges),
    }
    return values | row.ratings() | {name: clean(text) for name, text in final["texts"].items()}


def _messages(desk: Desk, row: Finished, clean: Any) -> list[dict[str, Any]]:
    lines = []
    began = row.round.exchanges[0].said["at"]
    for turn, exchange in enumerate(row.round.exchanges, 1):
        for role, event in (("user", exchange.said), ("assistant", exchange.reply)):
            if event:
                text, seconds = clean(event["text"]) if role == "user" else event["text"], f"{event['at'] - began:.0f}"
                lines.append({"turn": turn, "role": role, "text": text, "seconds": seconds})
    return [{"participant": desk.pseudonym(row.code), "place": row.place + 1} | line for line in lines]


def _ratings(desk: Desk, row: Finished) -> list[dict[str, Any]]:
    who = {"participant": desk.pseudonym(row.code), "place": row.place + 1}
    return [who | {"after": each["after"], "rating": each["value"]} for each in row.round.ratings]


def _write(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with whole_file(path) as file:
        table = csv.DictWriter(file, list(columns), lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow(harmless_row(dict(row)))


def codebook_lines(study: Study) -> list[str]:
    """Every table and what its columns mean, as Markdown."""
    lines = [f"# Codebook: {study.title}", "", f"Version {study.version} of the study file."]
    lines += [
        "",
        f"Text that begins with {' '.join(FORMULA)} stands behind an apostrophe, so that no spreadsheet runs it;",
    ]
    lines += ["control characters are written as <U+202E>. The conversations in `run/` hold the text as it was."]
    tables = {
        "participants.csv: one row a finished conversation": COLUMNS | _answers(study),
        "messages.csv: one row a message": MESSAGES,
        "ratings.csv: one row a rating on the way": RATINGS | {"rating": f"{study.rating.question} Empty: not said"},
        "attrition.csv: one row a condition, and one before it was drawn; counts of people": attrition.COLUMNS,
    }
    for title, columns in tables.items():
        lines += ["", f"## {title}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| {name} | {json.dumps(meaning, ensure_ascii=False)[1:-1]} |" for name, meaning in columns.items()]
    return lines
