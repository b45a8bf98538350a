"""Do judges agree, and with people?  A run's turns judged again; the measures are in `discover_lib.metrics.agreement`.

Judges get recorded turns one by one: the conversation, the frozen state, the reply.  The desk keeps no files; raising
means failed, returning finished.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, TextIO

from discover_lib.base.cells import harmless
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_text
from discover_lib.base.words import counted
from discover_lib.core.advance import focus
from discover_lib.core.conversation import Conversation
from discover_lib.core.roles import Judge, JudgeError
from discover_lib.engines.llm.calls.client import Budget, LLMClient
from discover_lib.engines.role_options import RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, check_engine
from discover_lib.metrics.agreement import (
    ENOUGH,
    KIND,
    NO,
    YES,
    Agreement,
    Label,
    Moment,
    agreements,
    disagreements,
    flips,
    labels_of,
    moments_of,
    recorded_labels,
)
from discover_lib.runs.options import check_prices
from discover_lib.runs.outcomes import cost_line
from discover_lib.runs.store import RunStore
from discover_lib.tasks.leaks import finished_conversations
from discover_lib.tasks.playing import Models, Tuning, how_to_pay
from discover_lib.tasks.waist import Lines, Report, RunFolder, Table, Tell, ask, task

JUDGED = 40  # conversations that further judges are asked about, unless told otherwise
SHOWN = 10  # examples
COLUMNS = ("judge", "conversation", "turn", "intent", "label")

JudgeFactory = Callable[[int], Judge]  # number of the repeat, from 0 → the judge that is asked then


class LabelError(DiscoverError):
    """A file of labels that cannot be read; the message names the line and the repair."""


# -- the desk ---------------------------------------------------------------------------------------------------------


class Agree(Tuning, frozen=True, kw_only=True):
    run: RunFolder
    judge: Annotated[
        tuple[str, ...], ask("Model that judges the turns again: miniature or a LiteLLM model; repeatable.")
    ] = ()
    repeats: Annotated[
        int, ask("Number of times that each --judge answers, to count how often its answer changes.", least=1)
    ] = 1
    conversations: Annotated[int, ask("Maximum number of conversations for --judge and --label-sheet.", least=1)] = (
        JUDGED
    )
    labels: Annotated[tuple[Path, ...], ask("CSV of human labels; repeatable.")] = ()


@task("agree", "Do judges agree, and with people?", keeps=False)
def agree(asked: Agree, how: Models, folder: Path, tell: Tell) -> Report:
    asked.role_options.check_names(())
    with RunStore.read(asked.run) as store:
        talks = finished_conversations(store)
    if asked.judge:
        talks = dict(itertools.islice(talks.items(), asked.conversations))
    labels, moments = recorded_labels(talks), moments_of(talks)
    for path in asked.labels:
        labels += parse_labels(read_text(path, LabelError), str(path), moments)
    answered, paid = _answered(talks, asked, how)
    return told([*labels, *answered], paid)


def told(labels: Sequence[Label], paid: Sequence[str] = ()) -> Report:
    """Agreement of first answers, answers that changed on repeat, and the disagreements."""
    measured, changed, disputed = agreements(labels), flips(labels), disagreements(labels)
    lines = []
    if few := ", ".join(dict.fromkeys(f"{each.group} (n = {each.n})" for each in measured if each.too_few)):
        lines.append(f"too few to tell how far judges agree (under {ENOUGH} things, or one conversation alone): {few}")
    lines += [f"{flip.judge}, asked {flip.repeats} times, changed its first answer: {flip.share}" for flip in changed]
    lines.append(counted(len(disputed), "disagreement"))
    examples = [f"  {each.conversation}, turn {each.turn}, {each.line}" for each in disputed[:SHOWN]]
    rows = tuple(each.row() for each in measured)
    plain = {
        "agreement": [dict(zip(Agreement.COLUMNS, row, strict=True)) for row in rows],
        "flips": [{"judge": each.judge, "repeats": each.repeats, **vars(each.share)} for each in changed],
        "disagreements": [
            {
                "conversation": each.conversation,
                "turn": each.turn,
                "intent": each.intent,
                "labels": [vars(label) for label in each.labels],
            }
            for each in disputed
        ],
    }
    table = Table(
        ("judges", "agreement", "κ", "answers of both"),
        tuple(
            (f"{group}: {who}", percent, kappa, f"{n} in {talks} conversations, {others} left out")
            for group, who, n, talks, others, percent, kappa in sorted(rows, key=lambda row: row[0] != "all intents")
        ),
        "agreement of first answers; 95% intervals bootstrapped over conversations",
        shown=sum(each.group == "all intents" for each in measured) or None,
    )
    return Report((Lines(tuple(paid)), table, Lines(tuple(lines)), Lines(tuple(examples))), plain)


# -- judges that are asked --------------------------------------------------------------------------------------------


def _answered(talks: Mapping[str, Conversation], asked: Agree, how: Models) -> tuple[list[Label], list[str]]:
    """The labels of the named judges, domain by domain, and the price; models only within a budget."""
    by_domain: dict[str, list[Moment]] = {}
    for name, talk in talks.items():
        by_domain.setdefault(talk.setting.get("domain") or "", []).extend(moments_of({name: talk}))
    for name in asked.judge:
        check_engine("judge", name)
    models = [name for name in asked.judge if name != MINIATURE]
    calls = len(models) * asked.repeats * sum(map(len, by_domain.values()))
    if models and how.budget is None:
        raise DiscoverError(
            f"{calls:,} calls to {', '.join(models)} would be made; {how_to_pay(models, how.settings)} "
            "to make them, --conversations for fewer"
        )
    if MINIATURE in asked.judge and "" in by_domain:
        raise DiscoverError("the miniature cannot judge artifacts outside its domains; name a model with --judge")
    check_prices(models, how.settings, how.budget, needed=True)
    asked_now = LLMClient(how.settings, budget=Budget(how.budget)) if models and how.budget is not None else None
    with asked_now or nullcontext() as client:  # without a cache, so that every repeat is a new call
        labels: list[Label] = []
        for domain, moments in by_domain.items():
            judges = {name: _factory(name, domain, client, asked.role_options) for name in asked.judge}
            labels += ask_judges(moments, judges, asked.repeats)
        paid = client.spent if client is not None else None
        return labels, [f"asked now: {cost_line(paid)}"] if paid and paid.calls else []


def _factory(name: str, domain: str, client: LLMClient | None, options: RoleOptions) -> JudgeFactory:
    return lambda repeat: RoleEngines(EngineSpec(judge=name, role_options=options), client).judge(domain)


def ask_judges(moments: Sequence[Moment], judges: Mapping[str, JudgeFactory], repeats: int = 1) -> Iterator[Label]:
    """Ask every judge about every moment, `repeats` times; labels come as they are made.

    Args:
        judges: name → maker of the judge for a repeat.  A judge that cannot vary may be returned every time; a
            language model behind a cache would give its cached answer, so each repeat needs a new client.
    """
    for name, factory in judges.items():
        for repeat in range(repeats):
            judge = factory(repeat)
            for each in moments:
                try:
                    found = judge.evaluate(each.tree, each.state, each.messages, each.reply, each.rules)
                except JudgeError:
                    found = None
                yield from labels_of(name, repeat, each, found)


# -- labels by people ------------------------------------------------------------------------------------------------


def write_label_sheet(moments: Sequence[Moment], file: TextIO, judge: str = "") -> int:
    """A CSV for a person to fill in: one row per thing to label, `label` empty; returns the number of rows.

    Listed are the kind of the reply and every intent of the roots in focus, so that the sheet gives no verdict away.
    """
    sheet = csv.writer(file)
    sheet.writerow([*COLUMNS, "what", "reply"])
    rows = 0
    for each in moments:
        intents = [intent for root in focus(each.tree, each.state, each.rules) for intent in each.tree[root].walk()]
        reply_text = " ".join(each.reply.text.split())
        about = [harmless(judge), harmless(each.conversation), each.turn]
        reply_text = harmless(reply_text)
        sheet.writerow([*about, KIND, "", "artifact or dialogue_act?", reply_text])
        for intent in intents:
            sheet.writerow([*about, harmless(intent.id), "", f"engaged? {harmless(intent.text)}", reply_text])
        rows += 1 + len(intents)
    return rows


def parse_labels(text: str, source: str, moments: Sequence[Moment]) -> list[Label]:
    """Labels that people gave, from a CSV with the columns of `COLUMNS` (others are ignored); empty labels are skipped.

    Args:
        source: name of the text in errors.

    Raises:
        LabelError: a line cannot be used; the message names the line and its allowed values.
    """
    known = {(harmless(each.conversation), each.turn): each for each in moments}
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise LabelError(f"{source}: no column {', '.join(missing)}; the columns are {', '.join(COLUMNS)}")
        return [label for line, row in enumerate(rows, 2) if (label := _read_label(source, line, row, known))]
    except csv.Error as error:
        raise LabelError(f"{source}: cannot be read as CSV ({error})") from None


def _read_label(
    source: str, line: int, row: Mapping[str, str | None], known: Mapping[tuple[str, int], Moment]
) -> Label | None:
    judge, conversation, turn, intent, value = ((row[name] or "").strip() for name in COLUMNS)
    if not value:
        return None
    where = f"{source}, line {line}"
    moment = known.get((harmless(conversation), int(turn))) if turn.isdecimal() else None
    if moment is None:
        raise LabelError(f"{where}: there is no turn {turn!r} of a conversation {conversation!r} in this run")
    conversation = moment.conversation
    intent = next((each for each in moment.tree.intents if harmless(each) == harmless(intent)), intent)
    if intent and intent not in moment.tree.intents:
        raise LabelError(f"{where}: there is no intent {intent!r} in that conversation")
    allowed = (YES, NO) if intent else ("artifact", "dialogue_act")
    if value not in allowed:
        raise LabelError(f"{where}: label is {value!r}; write {' or '.join(allowed)}, or leave it empty")
    return Label(judge or "a person", conversation, int(turn), intent, value)
