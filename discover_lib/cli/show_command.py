"""`discover show`: what a `discover://` id stands on, as the run's store holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.ids import FORM, SCHEME, DiscoverId, IdError
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.metrics.discovery import why_undefined
from discover_lib.metrics.results import met_leaves
from discover_lib.metrics.satisfaction import counted_leaves
from discover_lib.metrics.scores import EMERGING, scores_of
from discover_lib.runs.resolve import BY_LABEL, Resolved, id_of, resolve
from discover_lib.runs.store import FILE, RunStore, id_of_run

SHOWN = 50  # conversations listed before the rest is counted


def show_id(
    id: Annotated[str, typer.Argument(help=f"ID as {FORM}, with * for all of a kind; or a run.", metavar="ID|RUN")],
    of_run: Annotated[
        list[str] | None,
        typer.Argument(help="Artifact, assistants and trial of the run.", metavar="[ARTIFACT [ASSISTANTS] TRIAL]"),
    ] = None,
) -> None:
    """Print the conversations behind a number, one conversation, or one turn, by its discover:// ID."""
    wanted = _id_in(id, of_run or [])
    stored = resolve(wanted)
    if stored.turn and not wanted.measure:
        _show_turn(stored, stored.turn)
    elif stored.conversation and not wanted.measure:
        _show_conversation(stored)
    else:
        _show_values(stored)


def _id_in(first: str, rest: list[str]) -> DiscoverId:
    """The id that the words of the command are, or name.

    Raises:
        IdError: they are none.
    """
    if first.startswith(SCHEME) and not rest:
        return DiscoverId.parse(first)
    run = id_of_run(Path(first)) if (Path(first) / FILE).is_file() else DiscoverId(first)
    if not rest:
        return run
    artifact, *assistants, trial = rest if len(rest) in (2, 3) else ("", "")
    if first.startswith(SCHEME) or not trial.isdecimal():
        raise IdError(f"invalid {' '.join([first, *rest])!r}; write {FORM}, or RUN ARTIFACT [ASSISTANTS] TRIAL")
    return replace(run, artifact=artifact, assistants="".join(assistants) or None, trial=int(trial))


def _show_values(stored: Resolved) -> None:
    for each, value in list(stored.values.items())[:SHOWN]:
        typer.echo(f"{_short(value)}\t{each}".lstrip("\t"))
    if (rest := len(stored.values) - SHOWN) > 0:
        typer.echo(f"and {rest:,} more")
    typer.echo(f"{counted(len(stored.values), 'value')} of {stored.id.measure or 'conversations'} in {stored.folder}")
    measure = BY_LABEL.get(stored.id.measure)
    for line in _made_of(stored):
        typer.echo(line)
    if stored.comparison and measure:
        typer.echo(stored.comparison.sentence(measure.label, measure.worth_seeing, measure.shown))
    elif stored.estimate:
        typer.echo(f"mean over artifacts: {stored.estimate} (n = {stored.estimate.n_artifacts})")


def _made_of(stored: Resolved) -> Iterator[str]:
    """What a measure of one conversation is made of, in lines."""
    wanted, talk, pool = stored.id, stored.conversation, stored.pool
    if talk is None or pool is None or wanted.against:
        return
    name = BY_LABEL[wanted.measure].name if wanted.measure in BY_LABEL else wanted.measure
    own = next(each for each in pool.scores if each.place == stored.places[0])
    user = {who: row[own.unit] for who, row in pool.by_user.items() if own.unit in row}
    if name == "proportion":
        counts = Counter(own.levels(wanted.turn).values())
        whole, half = counts[1.0], counts[EMERGING]
        yield f"found = ({whole} discovered + {EMERGING:g} × {half} emerging) / {len(own.moves)} hidden"
    elif name == "discovery":
        levels = {who: each.levels() for who, each in user.items()}
        disputed = [intent for intent in own.moves if len({each[intent] for each in levels.values()}) > 1]
        if disputed:
            yield f"{counted(len(disputed), 'intent')} in dispute: {', '.join(user)} did not all find the same"
        else:
            yield f"eq. 4: not defined: {why_undefined(len(user), 1, 0) or 'all assistants found the same'}"
        found = {1.0: "discovered", EMERGING: "emerging"}
        for intent in disputed:
            yield f"{found.get(levels[own.assistant][intent], 'not found')}\t{_named(talk, intent)}"
    elif name == "satisfaction" and own.leaves and all(each.leaves for each in user.values()):
        met = {who: met_leaves(each) for who, each in user.items()}
        counting = counted_leaves(met, own.unit, pool.leave_out)
        for leaf, score in own.leaves.items():
            said = ("met" if met[own.assistant][leaf] else "not met") if leaf in counting else "left out"
            yield f"{said}\t{_named(talk, leaf)}: {score:g} of 5"
        if len(user) > 1:
            yield f"left out is what {pool.leave_out} of {', '.join(user)} satisfied"
    elif name in ("reward", "tokens") and not wanted.turn:
        for turn, value in enumerate(own.rewards if name == "reward" else own.tokens, 1):
            at = replace(id_of(DiscoverId(wanted.run), own), turn=turn, measure=name)
            yield f"{_short(value) or 'unscored'}\t{at}"


def _short(value: object) -> str:
    """A value with at most three digits after the point; "" where there is none."""
    return "" if value is None else f"{round(value, 3):g}" if isinstance(value, float) else str(value)


def _show_conversation(stored: Resolved) -> None:
    from discover_lib.cli.show import ending_line
    from discover_lib.metrics.transcript import transcript
    from discover_lib.runs.outcomes import refusals, refused_in

    talk = stored.conversation
    assert talk is not None
    with RunStore.read(stored.folder) as store:
        assessment = store.assessment(stored.places[0])
        refused = refused_in(talk, refusals(store))
    final = assessment["final"]["reply"]["text"] if assessment and assessment["final"] else None
    for line in transcript(talk, final):
        typer.echo(line)
    for each in refused:
        typer.echo(f"the user's message was asked for again: {each.line}")
    typer.echo(f"\n{ending_line(talk)}")
    levels = scores_of(talk, 0).levels()
    at = Counter(levels.values())
    typer.echo(f"{at[1.0]} discovered, {at[EMERGING]} emerging of {len(levels)}")


def _show_turn(stored: Resolved, turn: Turn) -> None:
    """The messages, what the judge said, what moved, and the reward; of one intent alone where the id names it."""
    from discover_lib.metrics.transcript import in_words, level_name, reward_line

    talk, candidate, wanted = stored.conversation, turn.candidate, stored.id.intent
    assert talk is not None
    if wanted is None:
        typer.echo(f"assistant\n{turn.reply.text}\n\nuser\n{turn.user_message or '(nothing more)'}\n")
    for verdict in candidate.evaluation.verdicts if candidate.evaluation else ():
        if wanted in (None, verdict.intent_id):
            said = "engaged" if verdict.engaged else f"near misses: {', '.join(verdict.near_misses) or 'none'}"
            typer.echo(
                f"verdict on {verdict.intent_id} ({talk.tree.text(verdict.intent_id)}): {said}. {verdict.reason}"
            )
    for each in candidate.transitions:
        if wanted in (None, each.intent_id):
            typer.echo(f"{each.intent_id}: {in_words(each)}")
    if wanted is not None:
        before, after = (level_name(state[wanted]) for state in (turn.before, turn.after))
        typer.echo(f"{_named(talk, wanted)}: {before} before, {after} after")
    else:
        typer.echo(reward_line(turn))


def _named(talk: Conversation, intent: str) -> str:
    return f"{intent} ({talk.tree.text(intent)})"
