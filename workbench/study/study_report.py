"""The report and the files of a study: its participants, its outcomes, its export, the documents for a board."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.cells import FORMULA, harmless_row
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, write_text_lines
from discover_lib.metrics.intervals import bootstrap_mean, share_of, welch
from discover_lib.metrics.paired import SIGNIFICANCE, TOO_FEW, holm, p_text
from workbench.study.design import Study
from workbench.study.desk import EXPORTED, Desk, Progress
from workbench.study.study_pages import AGREEMENT, debrief_text, information, personal_data


def finished(desk: Desk) -> Iterator[tuple[str, Progress]]:
    """(code, progress) of each participant who finished."""
    return ((code, progress) for code, progress in desk.everybody() if progress.closed == "done")


ATTRITION_COLUMNS = {
    "condition": "label; empty before the draw",
    "people": "participants with this condition; in the row without a condition, participants before the draw",
    "finished": "participants who finished and did not withdraw",
    "withdrew": "participants who deleted their data, at any time",
    "timed_out": "participants whose session was closed after a long pause",
    "no_consent": "participants who did not agree",
    "screened_out": "participants whose answers are not admitted",
    "at_work": "participants who have not finished yet",
    "lost": "share of participants who withdrew or timed out, of all who are no longer at work, with a 95% interval",
}


def attrition(desk: Desk) -> list[tuple[str, ...]]:
    """Rows under `ATTRITION_COLUMNS`: participants before the draw, then by condition."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("", *desk.study.conditions)}
    for _, progress in desk.everybody():
        end = {None: "at_work", "done": "finished"}.get(progress.closed, str(progress.closed))
        counts[progress.condition][end] += 1
    for condition, withdrew in desk.withdrawn().items():
        counts[condition]["withdrew"] += withdrew
    rows = []
    for condition, count in counts.items():
        lost = share_of(count["withdrew"] + count["timed_out"], count.total() - count["at_work"])
        ends = [str(count[name]) for name in [*ATTRITION_COLUMNS][2:-1]]
        rows.append((condition, str(count.total()), *ends, str(lost)))
    return rows


# -- outcomes ----------------------------------------------------------------------------------------------------------


OUTCOMES = ("scale", "condition", "mean or difference", "n", "p", "")


def outcomes(desk: Desk) -> list[tuple[str, ...]]:
    """Rows under `OUTCOMES`: each final scale by condition, and the difference of each pair of conditions.

    Intervals are at 95%. p is corrected over the pairs of a scale (Holm).
    """
    rows: list[tuple[str, ...]] = []
    for scale in desk.study.final.scales:
        values = _ratings(desk, scale)
        for condition, ratings in values.items():
            mean = bootstrap_mean({code: [rating] for code, rating in ratings.items()}) if ratings else "–"
            rows.append((scale, condition, str(mean), str(len(ratings)), "", ""))
        pairs = list(combinations(desk.study.conditions, 2))
        differences = [welch(list(values[second].values()), list(values[first].values())) for first, second in pairs]
        adjusted = holm([each.p if each else 1.0 for each in differences])
        for (first, second), difference, p in zip(pairs, differences, adjusted, strict=True):
            pair = f"{second} − {first}"
            if difference is None:
                rows.append((scale, pair, "–", "", "", TOO_FEW))
                continue
            verdict = "" if p < SIGNIFICANCE else "not distinguishable"
            rows.append((scale, pair, str(difference), "{} and {}".format(*difference.n), p_text(p), verdict))
    return rows


def _ratings(desk: Desk, scale: str) -> dict[str, dict[str, float]]:
    """Condition → code → the participant's rating on a final scale."""
    values: dict[str, dict[str, float]] = {condition: {} for condition in desk.study.conditions}
    for code, progress in finished(desk):
        if (rating := progress.final["ratings"][scale]) is not None:
            values[progress.condition][code] = float(rating)
    return values


# -- the study as files: tables with a codebook, documents for an ethics board -----------------------------------------


Personal = Literal["refuse", "redact", "keep"]
COLUMNS = {
    "participant": "pseudonym; it cannot be traced to the person",
    "version": "of the study file",
    "task": "the drawn task",
    "topic": "the chosen topic",
    "condition": "label of the condition",
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
    "late": "replies after `reply_seconds`, whose time may reveal the condition",
}
MESSAGES = {
    "participant": COLUMNS["participant"],
    "turn": "1 for the first exchange",
    "role": "user or assistant",
    "text": "the message; with --personal redact, without personal data",
    "seconds": "since the conversation's first message",
    "rating": "after this reply",
}


def export_study(desk: Desk, personal: Personal = "refuse") -> int:
    """Write `export/` beside the participants: the tables and their codebook. Returns the number of participants.

    Raises:
        DiscoverError: a text looks like personal data and `personal` is "refuse"; or no participant has finished.
    """
    rows = list(finished(desk))
    if not rows:
        raise DiscoverError(f"{desk.folder}: no participant has finished yet")
    texts = [
        (code, text)
        for code, progress in rows
        for text in (*(said["text"] for said in progress.every("said")), *progress.final["texts"].values())
    ]
    found = [(code, each.kind, each.text) for code, text in texts for each in personal_data(text)]
    if found and personal == "refuse":
        seen = "; ".join(f"{desk.pseudonym(code)}: {kind} “{text}”" for code, kind, text in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise DiscoverError(
            f"this looks like personal data: {seen}{more}; read it, then choose --personal redact or --personal keep"
        )
    clean = redacted if personal == "redact" else str
    folder = desk.folder / EXPORTED
    _write(folder / "participants.csv", [*COLUMNS, *_answers(desk.study)], [_row(desk, *row, clean) for row in rows])
    _write(folder / "messages.csv", MESSAGES, [line for row in rows for line in _messages(desk, *row, clean)])
    left = [dict(zip(ATTRITION_COLUMNS, row, strict=True)) for row in attrition(desk)]
    _write(folder / "attrition.csv", ATTRITION_COLUMNS, left)
    write_text_lines(folder / "codebook.md", codebook_lines(desk.study))
    return len(rows)


def redacted(text: str) -> str:
    """The text with possible personal data replaced by its kind."""
    for found in personal_data(text):
        text = text.replace(found.text, f"[{re.sub('^an? ', '', found.kind)}]")
    return text


def _answers(study: Study) -> dict[str, str]:
    """The columns of the study file's questions."""
    scales = {
        name: f"{scale.question} 1 = {scale.low}, {scale.points} = {scale.high}; empty: not given"
        for name, scale in study.final.scales.items()
    }
    return scales | {name: text.question for name, text in study.final.texts.items()}


def _row(desk: Desk, code: str, progress: Progress, clean: Any) -> dict[str, Any]:
    said, replies, final = progress.every("said"), progress.every("replied"), progress.final
    watched = [*said, final]
    values = {
        "participant": desk.pseudonym(code),
        "version": (progress.first("arrived") or {}).get("version"),
        "task": progress.task,
        "topic": progress.topic,
        "condition": progress.condition,
        "slot": progress.slot,
        "exchanges": len(replies),
        "minutes": f"{(final['at'] - said[0]['at']) / 60:.1f}",
        "words": f"{sum(len(each['text'].split()) for each in said) / len(said):.1f}",
        "reply_words": sum(len(reply["text"].split()) for reply in replies),
        "reply_tokens": sum(reply["tokens"] for reply in replies),
        "pasted": sum(each.get("pasted", 0) for each in watched),
        "left": sum(each.get("left", 0) for each in watched),
        "failures": len(progress.every("failed")),
        "late": sum(reply["late"] for reply in replies),
    }
    return values | final["ratings"] | {name: clean(text) for name, text in final["texts"].items()}


def _messages(desk: Desk, code: str, progress: Progress, clean: Any) -> list[dict[str, Any]]:
    lines = []
    began = progress.exchanges[0].said["at"]
    ratings = {each["after"]: each["value"] for each in progress.every("rated")}
    for turn, exchange in enumerate(progress.exchanges, 1):
        said, reply = exchange.said, exchange.reply
        told = [("user", clean(said["text"]), said["at"], None)]
        if reply:
            told.append(("assistant", reply["text"], reply["at"], ratings.get(turn)))
        for role, text, at, rating in told:
            line = {"turn": turn, "role": role, "text": text, "seconds": f"{at - began:.0f}", "rating": rating}
            lines.append({"participant": desk.pseudonym(code)} | line)
    return lines


def _write(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with whole_file(path) as file:
        table = csv.DictWriter(file, list(columns), lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow(harmless_row(dict(row)))


def codebook_lines(study: Study) -> list[str]:
    """The tables and the meanings of their columns, as Markdown."""
    lines = [f"# Codebook: {study.title}", "", f"Version {study.version} of the study file."]
    lines += ["", f"Text that begins with {' '.join(FORMULA)} follows an apostrophe, so that no spreadsheet runs it."]
    lines += ["Control characters are written as <U+202E>."]
    tables = {
        "participants.csv: one row per finished conversation": COLUMNS | _answers(study),
        "messages.csv: one row per message": MESSAGES
        | {"rating": f"after this reply: {study.rating.question} Empty: not asked, or not given"},
        "attrition.csv: participants per condition, and before the draw": ATTRITION_COLUMNS,
    }
    for title, columns in tables.items():
        lines += ["", f"## {title}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| {name} | {json.dumps(meaning, ensure_ascii=False)[1:-1]} |" for name, meaning in columns.items()]
    return lines


# -- documents for an ethics board -------------------------------------------------------------------------------------


def write_pack(study: Study, folder: Path) -> list[Path]:
    """Write the information sheet, the consent, the debrief and the codebook."""
    entries = [f"**{head}.** {text}" for head, text in information(study).items()]
    sheets = {
        "information.md": [f"# Information: {study.title}", *(line for each in entries for line in ("", each))],
        "consent.md": [f"# Consent: {study.title}", "", AGREEMENT],
        "debrief.md": ["# Debrief", "", debrief_text(study) or "The study withheld no information."],
        "codebook.md": codebook_lines(study),
    }
    for name, lines in sheets.items():
        write_text_lines(folder / name, lines)
    return [folder / name for name in sheets]
