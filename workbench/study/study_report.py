"""The report and the files of a study: its participants, its outcomes, its export, the documents for a board."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.cells import FORMULA, harmless_row
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, write_text_lines
from discover_lib.metrics.intervals import (
    Difference,
    Estimate,
    Share,
    bootstrap_difference,
    bootstrap_mean,
    paired_differences,
    share_difference,
    share_of,
    welch,
)
from discover_lib.metrics.paired import SIGNIFICANCE, holm, permutation_p
from workbench.study.design import Study
from workbench.study.desk import EXPORTED, Desk, Progress, Round
from workbench.study.study_pages import AGREEMENT, debrief_text, information, personal_data


@dataclass(frozen=True)
class Finished:
    """One conversation of a participant who finished the study."""

    code: str
    progress: Progress
    place: int  # 0 for the first conversation of a participant

    @property
    def round(self) -> Round:
        return self.progress.rounds[self.place]

    def ratings(self) -> dict[str, int | None]:
        return dict((self.round.final or {})["ratings"])


def finished(desk: Desk) -> Iterator[Finished]:
    """The conversations of the participants who finished."""
    for code, progress in desk.everybody():
        if progress.closed == "done":
            for place in range(len(progress.rounds)):
                yield Finished(code, progress, place)


def flow_lines(desk: Desk) -> list[str]:
    """The number of participants at each step, as in a flow diagram."""
    everybody = [progress for _, progress in desk.everybody()]
    simulated = sum(progress.simulated for progress in everybody)
    reached = {
        kind: sum(progress.first(kind) is not None for progress in everybody)
        for kind in ("arrived", "consent", "topic")
    }
    ends = Counter(progress.closed or "at work" for progress in everybody)
    left = desk.withdrawn()
    lines = [f"a rehearsal: {simulated} of {len(everybody)} participants are simulated"] if simulated else []
    lines += [f"arrived {reached['arrived']}, consented {reached['consent']}, began {reached['topic']}"]
    lines.append(", ".join(f"{end.replace('_', ' ')} {count}" for end, count in sorted(ends.items())) or "0 yet")
    if left:
        steps = Counter(step for step, _ in left.elements())
        at = ", ".join(f"{count} at {step}" for step, count in sorted(steps.items()))
        lines.append(f"withdrawn and deleted: {left.total()} ({at})")
    done = [progress for progress in everybody if progress.closed == "done"]
    cells = Counter(f"{progress.task} {'+'.join(progress.arms)}" for progress in done)
    per_cell = ", ".join(f"{cell} {count}" for cell, count in sorted(cells.items())) or "0"
    lines.append(f"finished {len(done)} of {desk.study.participants} planned; per cell {per_cell}")
    return lines


# -- participants who left ---------------------------------------------------------------------------------------------

ATTRITION_COLUMNS = {
    "condition": "label; both labels in their order in a paired design; empty before the draw",
    "people": "participants with this condition; in the row without a condition, participants before the draw",
    "began": "participants who chose a topic",
    "finished": "participants who finished and did not withdraw",
    "withdrew": "participants who deleted their data, at any time",
    "timed_out": "participants whose session was closed after a long pause",
    "no_consent": "participants who did not agree",
    "screened_out": "participants whose answers are not admitted",
    "at_work": "participants who have not finished yet",
}
BEFORE_TOPIC = ("consent", "eligibility", "task")


def lost(count: Counter[str]) -> Share:
    """The share of participants who withdrew or timed out, of all who are no longer at work."""
    return share_of(count["withdrew"] + count["timed_out"], count["people"] - count["at_work"])


def attrition(desk: Desk) -> dict[str, Counter[str]]:
    """Condition → counts under the names of `ATTRITION_COLUMNS`. The condition "" is before the draw."""
    counts: dict[str, Counter[str]] = {"": Counter()}
    counts |= {"+".join(cell.arms): Counter() for cell in desk.study.cells}
    for _, progress in desk.everybody():
        count = counts["+".join(progress.arms)]
        count["people"] += 1
        count["began"] += bool(progress.topic)
        count[{None: "at_work", "done": "finished"}.get(progress.closed, str(progress.closed))] += 1
    for (step, arms), people in desk.withdrawn().items():
        count = counts.get(arms, counts[""])
        count["people"] += people
        count["withdrew"] += people
        count["began"] += people * (bool(arms) and step not in BEFORE_TOPIC)
    return counts


def attrition_lines(desk: Desk) -> list[str]:
    """The participants who left, by condition, and the differences between conditions."""
    counts = attrition(desk)
    before = counts.pop("")
    lines = [f"before a condition was drawn: {_parts(before)}"] if before["people"] else []
    for arms, count in counts.items():
        given = f"given to {count['people']}, {count['began']} began"
        lines.append(f"{arms}: {given}; {_parts(count)}; lost {lost(count)}")
    for (first, one), (second, other) in combinations(counts.items(), 2):
        lines.append(f"lost, {second} − {first}: {_lost_more(lost(one), lost(other))}")
    return lines


def _parts(count: Counter[str]) -> str:
    ends = list(ATTRITION_COLUMNS)[3:]
    return ", ".join(f"{count[end]} {end.replace('_', ' ')}" for end in ends if count[end]) or "0 yet"


def _lost_more(theirs: Share, ours: Share) -> str:
    """The second share minus the first."""
    extremes = 2 if ours.n == theirs.n else 1  # outcomes of Fisher's exact test as extreme as all against 0
    if extremes / math.comb(ours.n + theirs.n, ours.n) >= SIGNIFICANCE:
        return f"too few to tell ({ours.n} and {theirs.n})"
    how = share_difference(ours, theirs)
    assert how.low is not None and how.high is not None
    clear = "" if how.low > 0 or how.high < 0 else "; not distinguishable"
    return f"{how} (n = {ours.n} and {theirs.n}){clear}"


# -- outcomes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """A scale: the mean of each condition, and the difference of each pair of conditions.

    Attributes:
        differences: (first, second) → the second minus the first; None if too few participants rated.
        adjusted: the same pairs → p, corrected for the number of pairs (Holm); 1 without a difference.
    """

    scale: str
    means: Mapping[str, Estimate]
    unsaid: int
    differences: Mapping[tuple[str, str], Difference | None]
    adjusted: Mapping[tuple[str, str], float]


def compared(desk: Desk) -> list[Compared]:
    """Each final scale by condition. A paired design compares the ratings of one participant."""
    study, results = desk.study, []
    for scale in study.final.scales:
        values = _ratings(desk, scale)
        unsaid = sum(row.ratings()[scale] is None for row in finished(desk))
        means = {arm: bootstrap_mean(ratings) for arm, ratings in values.items() if ratings}
        pairs = list(combinations(study.conditions, 2))
        differences = {(a, b): _difference(study.design, values[a], values[b]) for a, b in pairs}
        adjusted = holm([each.p if each else 1.0 for each in differences.values()])
        results.append(Compared(scale, means, unsaid, differences, dict(zip(pairs, adjusted, strict=True))))
    return results


def _ratings(desk: Desk, scale: str) -> dict[str, dict[str, list[float]]]:
    """Condition → code → the participant's rating on a final scale."""
    values: dict[str, dict[str, list[float]]] = {arm: {} for arm in desk.study.conditions}
    for row in finished(desk):
        if (rating := row.ratings()[scale]) is not None:
            values[row.round.arm][row.code] = [float(rating)]
    return values


SIDES = ("scale", "condition", "people", "simulated", "simulated − people")


def side_by_side(people: Desk, simulated: Desk) -> list[tuple[str, str, str, str, str]]:
    """The ratings of people and of simulated participants: rows under `SIDES`, with 95% intervals.

    The last rows of a scale are the differences between conditions, on both sides.

    Raises:
        DiscoverError: the two have other conditions or scales, or are not people and simulated participants.
    """
    one, other = people.study, simulated.study
    if list(one.conditions) != list(other.conditions) or one.final.scales != other.final.scales:
        raise DiscoverError(f"{simulated.folder}: other conditions or scales than {people.folder}")
    if not any(row.progress.simulated for row in finished(simulated)):
        raise DiscoverError(f"{simulated.folder}: no simulated participant has finished: see 'discover study bots'")
    if any(row.progress.simulated for row in finished(people)):
        raise DiscoverError(
            f"{people.folder}: participants are simulated; give the folder of people, and theirs to --beside"
        )
    rows = []
    for theirs, ours in zip(compared(people), compared(simulated), strict=True):
        given, drawn = _ratings(people, theirs.scale), _ratings(simulated, theirs.scale)
        for arm in one.conditions:
            apart = welch([each for [each] in drawn[arm].values()], [each for [each] in given[arm].values()])
            means = [each.means.get(arm) for each in (theirs, ours)]
            sides = [_with_n(mean) if mean else "–" for mean in means]
            rows.append((theirs.scale, arm, sides[0], sides[1], str(apart or "–")))
        for (first, second), difference in theirs.differences.items():
            gain = ours.differences[first, second]
            rows.append((theirs.scale, f"{second} − {first}", str(difference or "–"), str(gain or "–"), ""))
    return rows


def _difference(design: str, first: Mapping[str, list[float]], second: Mapping[str, list[float]]) -> Difference | None:
    """The second condition minus the first. None if too few participants rated."""
    if design == "between":
        return welch([value for [value] in second.values()], [value for [value] in first.values()])
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return None
    ours, theirs = ({each: side[each] for each in both} for side in (second, first))
    how = bootstrap_difference(ours, theirs)
    assert how.low is not None and how.high is not None
    p = permutation_p(list(paired_differences(ours, theirs).values()))
    return Difference(how.mean, how.low, how.high, p, (len(both), len(both)))


def _with_n(mean: Estimate) -> str:
    return str(mean) if mean.low is None else f"{mean} (n = {mean.n_artifacts})"


def outcome_lines(desk: Desk) -> list[str]:
    """The ratings in lines with n and intervals. Several pairs of conditions have Holm's p."""
    lines, paired = [], desk.study.design == "paired"
    for each in compared(desk):
        lines += [f"{each.scale}, {arm}: {_with_n(mean)}" for arm, mean in each.means.items()]
        several = len(each.differences) > 1
        for (first, second), how in each.differences.items():
            pair = f"{each.scale}, {second} − {first}"
            if how is None:
                lines.append(f"{pair}: too few answers for a difference")
                continue
            p = each.adjusted[first, second]
            clear = p < SIGNIFICANCE if several else how.low > 0 or how.high < 0
            people = f"{how.n[0]} pairs of one participant" if paired else f"{how.n[0]} and {how.n[1]}"
            shown = f"{how} (n = {people}{f'; p {_shown(p)}' if several else ''})"
            lines.append(f"{pair}: {shown}{'' if clear else '; not distinguishable'}")
        if each.unsaid:
            lines.append(f"{each.scale}: {each.unsaid} without a rating")
    if len(desk.study.conditions) > 2:
        lines.append("every pair of conditions is compared: p by Holm over the pairs of a scale, intervals uncorrected")
    return lines


def _shown(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def quality_lines(desk: Desk) -> list[str]:
    """Counts by condition of events that could reveal a condition or spoil an answer."""
    by_arm: dict[str, Counter[str]] = {arm: Counter() for arm in desk.study.conditions}
    for _, progress in desk.everybody():
        for round in progress.rounds:
            count = by_arm[round.arm]
            replies = [exchange.reply for exchange in round.exchanges if exchange.reply]
            count["conversations"] += 1
            count["replies"] += len(replies)
            count["later than the fixed time"] += sum(bool(reply["late"]) for reply in replies)
            count["failures"] += sum(exchange.failures for exchange in round.exchanges)
            count["that name a condition"] += sum(_tells(desk, reply["text"]) for reply in replies)
            count["messages with pasted text"] += sum(bool(exchange.said["pasted"]) for exchange in round.exchanges)
    return [f"{arm}: " + ", ".join(f"{count[what]} {what}" for what in count) for arm, count in by_arm.items() if count]


def _tells(desk: Desk, text: str) -> bool:
    """True if a reply contains a model's name. Names of scripted assistants are everyday words."""
    names = [name for name in desk.study.assistants if "/" in name or "-" in name]
    return any(part.casefold() in text.casefold() for name in names for part in (name, name.rpartition("/")[2]))


# -- the study as files: tables with a codebook, documents for an ethics board -----------------------------------------


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
    "text": "the final text of the participant, or else the last artifact in a reply",
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


def _texts_of(row: Finished) -> list[str]:
    final = row.round.final or {}
    said = [exchange.said["text"] for exchange in row.round.exchanges]
    return [*said, *final.get("texts", {}).values(), final.get("text", "")]


def export_study(desk: Desk, personal: Personal = "refuse") -> int:
    """Write `export/` beside the participants: the tables and their codebook. Returns the number of participants.

    Raises:
        DiscoverError: a text looks like personal data and `personal` is "refuse"; or no participant has finished.
    """
    rows = list(finished(desk))
    if not rows:
        raise DiscoverError(f"{desk.folder}: no participant has finished yet")
    texts = [(row, text) for row in rows for text in _texts_of(row)] if personal == "refuse" else []
    found = [(row, each.kind, each.text) for row, text in texts for each in personal_data(text)]
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
    _write(folder / "ratings.csv", RATINGS, [line for row in rows for line in _rating_lines(desk, row)])
    left = [{"condition": arms, **{name: count[name] for name in names}} for arms, count in attrition(desk).items()]
    _write(folder / "attrition.csv", ATTRITION_COLUMNS, left)
    write_text_lines(folder / "codebook.md", codebook_lines(desk.study))
    return len({row.code for row in rows})


def redacted(text: str) -> str:
    """The text with possible personal data replaced by its kind."""
    for found in personal_data(text):
        text = text.replace(found.text, f"[{re.sub('^an? ', '', found.kind)}]")
    return text


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
    texts = {"text": final.get("text") or last_artifact([reply["text"] for reply in replies])} | final["texts"]
    return values | row.ratings() | {name: clean(text) for name, text in texts.items()}


def _messages(desk: Desk, row: Finished, clean: Any) -> list[dict[str, Any]]:
    lines = []
    began = row.round.exchanges[0].said["at"]
    for turn, exchange in enumerate(row.round.exchanges, 1):
        for role, event in (("user", exchange.said), ("assistant", exchange.reply)):
            if event:
                text, seconds = clean(event["text"]) if role == "user" else event["text"], f"{event['at'] - began:.0f}"
                lines.append({"turn": turn, "role": role, "text": text, "seconds": seconds})
    return [{"participant": desk.pseudonym(row.code), "place": row.place + 1} | line for line in lines]


def _rating_lines(desk: Desk, row: Finished) -> list[dict[str, Any]]:
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
    lines += ["", f"Text that begins with {' '.join(FORMULA)} follows an apostrophe, so that no spreadsheet runs it."]
    lines += ["Control characters are written as <U+202E>."]
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


def write_pack(study: Study, folder: Path) -> list[Path]:
    """Write the information sheet, the consent, the debrief and the codebook."""
    sheets = {
        "information.md": _sheet(f"Information: {study.title}", information(study)),
        "consent.md": [f"# Consent: {study.title}", "", AGREEMENT],
        "debrief.md": ["# Debrief", "", debrief_text(study) or "The study withheld no information."],
        "codebook.md": codebook_lines(study),
    }
    for name, lines in sheets.items():
        write_text_lines(folder / name, lines)
    return [folder / name for name in sheets]


def _sheet(title: str, entries: dict[str, str]) -> list[str]:
    return [f"# {title}", *(line for head, text in entries.items() for line in ("", f"**{head}.** {text}"))]
