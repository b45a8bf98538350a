"""A study as files: tables with a codebook, a run of its conversations, and documents for an ethics board."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.cells import FORMULA, harmless_row
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, write_text_lines
from discover_lib.core.conversation import Reply
from discover_lib.core.rules import Rules
from discover_lib.engines.spec import RoleEngines, asked_assistants
from discover_lib.metrics.power import Planned
from workbench.study.design import Study
from workbench.study.desk import EXPORTED, RUN, Desk
from workbench.study.people import Chat, Written, write_people
from workbench.study.personal import personal_data
from workbench.study.study_pages import AGREEMENT, debrief_text, information
from workbench.study.study_report import ATTRITION_COLUMNS, Finished, attrition, finished

Personal = Literal["refuse", "redact", "keep"]
COLUMNS = {
    "participant": "pseudonym; it cannot be traced to the person",
    "simulated": "1 for a simulated participant",
    "version": "of the study file",
    "task": "the drawn task",
    "topic": "the chosen topic",
    "condition": "label of the condition",
    "place": "1 for the first conversation of a participant",
    "slot": "place in the drawn order of assignment",
    "exchanges": "messages with a reply",
    "minutes": "minutes from the first message to the final answers",
    "words": "mean words of a participant's message",
    "reply_words": "words of all replies as shown, separated by spaces",
    "reply_tokens": "tokens of all replies as their assistants count them; scripted assistants count their notation, "
    "not the text",
    "pasted": "number of pastes",
    "left": "number of times the participant left the page",
    "failures": "failed replies",
}
MESSAGES = {
    "participant": COLUMNS["participant"],
    "place": COLUMNS["place"],
    "turn": "1 for the first exchange",
    "role": "user or assistant",
    "text": "the message; with --personal redact, without personal data",
    "seconds": "since the conversation's first message",
}
RATINGS = {
    "participant": COLUMNS["participant"],
    "place": COLUMNS["place"],
    "after": "number of replies before it",
    "rating": "the number; empty if it was not given",
}


@dataclass(frozen=True)
class Exported:
    """The written files."""

    folder: Path
    participants: int
    written: Written


def find_personal(rows: Iterable[Finished]) -> list[tuple[Finished, str, str]]:
    """Possible personal data in the texts of finished conversations: (conversation, kind, stretch of text)."""
    return [(row, found.kind, found.text) for row in rows for text in _texts_of(row) for found in personal_data(text)]


def _texts_of(row: Finished) -> list[str]:
    final = row.round.final or {}
    said = [exchange.said["text"] for exchange in row.round.exchanges]
    return [*said, *final.get("texts", {}).values(), final.get("text", "")]


def export_study(desk: Desk, engines: RoleEngines, judge: str, personal: Personal = "refuse") -> Exported:
    """Write `export/` beside the participants: the tables and their codebook; and `run/`, the conversations.

    Raises:
        DiscoverError: a text looks like personal data and `personal` is "refuse"; or no participant has finished.
    """
    rows = list(finished(desk))
    if not rows:
        raise DiscoverError(f"{desk.folder}: no participant has finished yet")
    found = find_personal(rows) if personal == "refuse" else []
    if found:
        seen = "; ".join(f"{desk.pseudonym(row.code)}: {kind} “{text}”" for row, kind, text in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise DiscoverError(
            f"this looks like personal data: {seen}{more}; read it, then choose --personal redact or --personal keep"
        )
    clean = redacted if personal == "redact" else str
    folder, (_, *names) = desk.folder / EXPORTED, ATTRITION_COLUMNS
    _write(folder / "participants.csv", [*COLUMNS, *_answers(desk.study)], [_row(desk, row, clean) for row in rows])
    _write(folder / "messages.csv", MESSAGES, [line for row in rows for line in _messages(desk, row, clean)])
    _write(folder / "ratings.csv", RATINGS, [line for row in rows for line in _ratings(desk, row)])
    left = [{"condition": arms, **{name: count[name] for name in names}} for arms, count in attrition(desk).items()]
    _write(folder / "attrition.csv", ATTRITION_COLUMNS, left)
    write_text_lines(folder / "codebook.md", codebook_lines(desk.study))
    chats = [chat_of(desk, row, clean) for row in rows]
    run = desk.folder / RUN
    shutil.rmtree(run, ignore_errors=True)
    written = write_people(run, chats, engines, name=desk.study.name, judge=judge, rules=Rules.paper())
    return Exported(folder, len({row.code for row in rows}), written)


def redacted(text: str) -> str:
    """The text with possible personal data replaced by its kind."""
    for found in personal_data(text):
        text = text.replace(found.text, f"[{re.sub('^an? ', '', found.kind)}]")
    return text


def chat_of(desk: Desk, row: Finished, clean: Any = str) -> Chat:
    """The conversation as a record of a run. Its artifact is the final text, or else the last artifact in a reply."""
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
        text=clean(final.get("text") or last_artifact([reply.text for reply in replies])),
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


def last_artifact(replies: Sequence[str]) -> str:
    """The last reply at least half as long as the longest: an artifact, not a remark."""
    longest = max(map(len, replies))
    return next(reply for reply in reversed(replies) if 2 * len(reply) >= longest)


def _answers(study: Study) -> dict[str, str]:
    """The columns of the study file's questions."""
    scales = {
        name: f"{scale.question} 1 = {scale.low}, {scale.points} = {scale.high}; empty: not given"
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
    """The tables and the meanings of their columns, as Markdown."""
    lines = [f"# Codebook: {study.title}", "", f"Version {study.version} of the study file."]
    lines += [
        "",
        f"Text that begins with {' '.join(FORMULA)} follows an apostrophe, so that no spreadsheet runs it.",
    ]
    lines += ["Control characters are written as <U+202E>. The conversations in `run/` contain the original text."]
    tables = {
        "participants.csv: one row per finished conversation": COLUMNS | _answers(study),
        "messages.csv: one row per message": MESSAGES,
        "ratings.csv: one row per rating during a conversation": RATINGS
        | {"rating": f"{study.rating.question} Empty: not given"},
        "attrition.csv: participants per condition, and before the draw": ATTRITION_COLUMNS,
    }
    for title, columns in tables.items():
        lines += ["", f"## {title}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| {name} | {json.dumps(meaning, ensure_ascii=False)[1:-1]} |" for name, meaning in columns.items()]
    return lines


# -- documents for an ethics board -------------------------------------------------------------------------------------

ASSUMED_SD = 2.0  # standard deviation of ratings on ten points, before a pilot has measured it


def write_pack(study: Study, folder: Path) -> list[Path]:
    """Write the information sheet, consent, debrief, codebook, flow of data and a draft of the preregistration."""
    sheets = {
        "information.md": _sheet(f"Information: {study.title}", information(study)),
        "consent.md": [f"# Consent: {study.title}", "", AGREEMENT],
        "debrief.md": ["# Debrief", "", debrief_text(study) or "The study withheld no information."],
        "codebook.md": codebook_lines(study),
        "preregistration.md": _preregistration(study),
        "data-flow.md": _data_flow(study),
    }
    for name, lines in sheets.items():
        write_text_lines(folder / name, lines)
    return [folder / name for name in sheets]


def _sheet(title: str, entries: dict[str, str]) -> list[str]:
    return [f"# {title}", *(line for head, text in entries.items() for line in ("", f"**{head}.** {text}"))]


def _preregistration(study: Study) -> list[str]:
    planned = Planned(study.design, 1.0, ASSUMED_SD, 0.5 if study.design == "paired" else 0.0, len(study.conditions))
    contrasts = ", ".join(f"{second} − {first}" for first, second in combinations(study.conditions, 2))
    corrected = f", by Holm over these {planned.pairs} pairs within each outcome" if planned.pairs > 1 else ""
    smallest = planned.detectable(study.participants)
    entries = {
        "Hypotheses": "Write them before the first participant.",
        "Design": f"{study.design}; conditions {', '.join(study.conditions)}; tasks {', '.join(study.tasks)}.",
        "Assignment": f"Permuted blocks of {len(study.cells)} (every task with every condition once), seeded, "
        "concealed from participants. A new participant takes the slot of one who withdraws or times out.",
        "Participants": f"{study.participants}, outcomes are read once, at the end.",
        "Power": f"With a standard deviation of {ASSUMED_SD:g} points (replace it with a pilot's), the study "
        f"detects a difference of {smallest:.2f} points with 80% probability at 5%, two-sided"
        + (f", shared by {planned.pairs} pairs of conditions." if planned.pairs > 1 else "."),
        "Outcomes": "; ".join(f"{name}: {scale.question}" for name, scale in study.final.scales.items()) + ".",
        "Analysis": f"Difference of means with a 95% interval ({contrasts}): "
        + ("Welch's t" if study.design == "between" else "bootstrap and sign-flip test over pairs of one participant")
        + f"{corrected}.",
        "Excluded": "All participants who finish are included. Those who withdraw are deleted and counted.",
        "Version": f"Version of the study file: {study.version}.",
    }
    return _sheet(f"Preregistration: {study.title}", entries)


def _data_flow(study: Study) -> list[str]:
    """The computers that read a message, in order."""
    reader = study.data.model_provider if asked_assistants(study.assistants) else "Assistants on this machine"
    steps = {
        "1. The participant’s browser": "messages, ratings, answers; no third-party script",
        "2. This server": f"stores them until {study.data.keep_until}; participant numbers as salted hashes, apart",
        f"3. {reader}": "reads the conversation; writes the reply",
        "4. Export": "scanned for personal data; names replaced by pseudonyms",
    }
    return _sheet(f"Flow of data: {study.title}", steps)
