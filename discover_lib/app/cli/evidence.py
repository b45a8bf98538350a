"""`discover show`: what a `discover://` id stands on, as the run's store holds it."""

from __future__ import annotations

from typing import Annotated

import typer

from discover_lib.app.cli.common import console
from discover_lib.base.ids import FORM, DiscoverId
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.runs.resolve import BY_LABEL, Resolved, resolve
from discover_lib.runs.store import RunStore

SHOWN = 50  # conversations listed before the rest is counted


def show_id(
    id: Annotated[str, typer.Argument(help=f"{FORM}, * for all of a kind.")],
) -> None:
    """Show what a number stands on, by its discover:// id: the conversations of a mean, or a turn and its verdicts."""
    wanted = DiscoverId.parse(id)
    stored = resolve(wanted)
    if stored.turn and not wanted.measure:
        _show_turn(stored, stored.turn)
    elif stored.conversation and not wanted.measure:
        _show_conversation(stored)
    else:
        _show_values(stored)


def _show_values(stored: Resolved) -> None:
    for each, value in list(stored.values.items())[:SHOWN]:
        typer.echo(f"{'' if value is None else value}\t{each}".lstrip("\t"))
    if (rest := len(stored.values) - SHOWN) > 0:
        typer.echo(f"and {rest:,} more")
    typer.echo(f"{counted(len(stored.values), 'value')} of {stored.id.measure or 'conversations'} in {stored.folder}")
    measure = BY_LABEL.get(stored.id.measure)
    if stored.comparison and measure:
        typer.echo(stored.comparison.sentence(measure.label, measure.worth_seeing, measure.shown))
    elif stored.estimate:
        typer.echo(f"mean over artifacts: {stored.estimate} (n = {stored.estimate.n_artifacts})")


def _show_conversation(stored: Resolved) -> None:
    from discover_lib.app.cli.show import print_ending

    talk = stored.conversation
    assert talk is not None
    for message in talk.messages():
        typer.echo(f"{message.role}\n{message.content}\n")
    with RunStore.read(stored.folder) as store:
        if (assessment := store.assessment(stored.places[0])) and assessment["final"]:
            typer.echo(f"finished piece\n{assessment['final']['reply']['text']}\n")
    print_ending(console(), talk)


def _show_turn(stored: Resolved, turn: Turn) -> None:
    """The messages, what the judge said, what moved, and the reward; of one intent alone where the id names it."""
    from discover_lib.views.transitions import in_words, level_name

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
    elif candidate.reward is None:
        typer.echo(f"unscored: {candidate.error or 'no judgement'}")
    else:
        reward = candidate.reward
        parts = f"{reward.discovered:+.0f} discovered, {reward.penalty:+.3f} for {reward.n_tokens} tokens"
        typer.echo(f"reward {reward.total:+.3f} ({parts})")


def _named(talk: Conversation, intent: str) -> str:
    return f"{intent} ({talk.tree.text(intent)})"
