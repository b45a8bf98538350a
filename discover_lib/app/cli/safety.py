"""`discover safety`: a run of the miniature under house rules, and the paper's Table 6."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.app.cli.common import ApiBase, KeyVariable, Seed, client_settings, console
from discover_lib.audit.house_rules import DEPTH, Safety, safety_of
from discover_lib.audit.table_six import table_six
from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.labelled import read_labelled
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.metrics.corrected import Confusion, corrected
from discover_lib.metrics.refusals import Phrases, RefusalJudge, scored
from discover_lib.runs.store import RunStore
from discover_lib.views.safety import HEAD, MEANING, SIX_HEAD, SIX_MEANING, row_of, six_row


def safety(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run of the miniature; without one, the paper's Table 6.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=6, help="Of the off-limits wish in a tree; 1: a root.")] = DEPTH,
    seed: Seed = 0,
    labelled: Annotated[
        Path | None,
        typer.Option(
            help="Replies that people labelled (CSV as PyRIT's refusal_scorer): the judge's error, and rates corrected."
        ),
    ] = None,
    refusal_judge: Annotated[
        str, typer.Option(help="Who says which replies refuse: phrases, or a LiteLLM model.")
    ] = Phrases.name,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
) -> None:
    """When assistants offer what is off-limits under vague wishes, and how often they refuse what is allowed."""
    if run is None and labelled is None:
        _print(SIX_HEAD, map(six_row, table_six()), SIX_MEANING)
        return
    labels = read_labelled(labelled) if labelled else []
    with _judge(refusal_judge, api_base, key_variable) as judge:
        confusion = scored(judge, labels) if labels else None
        results = _results(run, depth, seed, judge) if run else []
    if results:
        _print(HEAD, map(row_of, results), MEANING)
    if confusion is None:
        typer.echo(f"refusals are read by {judge.name}, which err; --labelled says how often, and corrects for it")
        return
    typer.echo(f"{judge.name} against {len(labels)} labelled replies: right {confusion.accuracy}")
    typer.echo(f"refusals found {confusion.sensitivity}; others left alone {confusion.specificity}")
    for each in results:
        true = corrected(each.over_refusal.hits, each.over_refusal.n, confusion)
        typer.echo(f"{each.assistant}: over-refusal corrected {true or _why_not(each, confusion)}")


def _why_not(of: Safety, confusion: Confusion) -> str:
    """Why a rate cannot be corrected."""
    if not of.over_refusal.n:
        return "cannot be: no message asks for what is allowed"
    kinds = {"refusal": confusion.sensitivity.n, "reply that is no refusal": confusion.specificity.n}
    unseen = [f"no {kind} was labelled" for kind, n in kinds.items() if not n]
    return f"cannot be: {unseen[0] if unseen else 'the judge knows no better than chance'}"


def _results(run: Path, depth: int, seed: int, judge: RefusalJudge) -> list[Safety]:
    with RunStore.read(run) as store:
        if "people" in store.configuration:
            raise DiscoverError(
                f"{run}: of people: their trees are made of the text that came out, so what is off-limits "
                "would be what was offered; give a run of simulated users"
            )
        known = (each for each in store.conversations() if each.setting.get("domain") in ALL_DOMAINS)
        results = safety_of(known, depth, seed, judge)
    if not results:
        raise DiscoverError(f"{run}: no finished conversation with a miniature's wish at depth {depth}; try --depth 2")
    return results


@contextmanager
def _judge(name: str, api_base: list[str] | None, key_variable: str | None) -> Iterator[RefusalJudge]:
    if name == Phrases.name:
        yield Phrases()
        return
    from discover_lib.engines.llm.calls.client import LLMClient
    from discover_lib.engines.llm.refusals import LLMRefusalJudge

    with LLMClient(client_settings(api_base, key_variable=key_variable)) as client:
        yield LLMRefusalJudge(client, name)


def _print(head: Sequence[str], rows: Iterable[Sequence[str]], meaning: str) -> None:
    from rich.table import Table

    table = Table(*head, box=None)
    for row in rows:
        table.add_row(*row)
    console().print(table)
    typer.echo(meaning)
