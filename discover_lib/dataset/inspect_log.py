"""Inspect's logs: a run as an `.eval` file that its viewer, data frames and re-scorers read, and back into a run.

A sample is a conversation, its messages are the conversation's, its scores our measures, and its store holds our whole
record and its assessment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.dataset.formats import keep_run, library
from discover_lib.metrics.scores import Assessment, scores_of
from discover_lib.runs.store import RunStore

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Score
    from inspect_ai.viewer import ViewerConfig

SCORER = "discovery"
MEASURES = ("discovered", "share", "reward", "tokens", "leaks")
NOT_JUDGED = "not judged"


def measures(talk: Mapping[str, Any]) -> Score:
    """The score of a stored conversation; a missing measure is NaN, Inspect's "unscored"."""
    from inspect_ai.scorer import Score

    scores = scores_of(Conversation.from_dict(talk), 0)
    share, reward = scores.share_discovered, scores.reward
    values = (scores.discovered, share, reward, sum(scores.tokens), scores.known_leaks)
    return Score(
        value={name: math.nan if value is None else value for name, value in zip(MEASURES, values, strict=True)}
    )


def unscored(why: str) -> Score:
    """The score of a conversation that failed."""
    from inspect_ai.scorer import Score

    return Score(value=dict.fromkeys(MEASURES, math.nan), explanation=why)


def viewer() -> ViewerConfig:
    """How Inspect's viewer lists conversations: best share first, colours over the whole scale."""
    from inspect_ai.viewer import ScoreColorScale, TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

    column = TaskSamplesColumn
    scores = [column.score(SCORER, name) for name in MEASURES]
    listed = TaskSamplesView(
        name="Conversations",
        columns=[column(id="sampleId"), column(id="input"), *scores, column(id="error")],
        sort=[TaskSamplesSort.score(SCORER, "share", dir="desc")],
        score_color_scales={"share": ScoreColorScale(palette="good-high", min=0, max=1)},
    )
    return ViewerConfig(task_samples_view=listed, trust_content=False)


# -- a run as a log --------------------------------------------------------------------------------------------------


def write_log(path: Path, store: RunStore) -> int:
    """Write the finished conversations of a run as one `.eval` file; returns how many.

    Raises:
        DiscoverError: inspect-ai is not here.
    """
    with library("reading and writing Inspect's logs", "inspect-ai", "inspect"):
        from inspect_ai.log import EvalLog, EvalResults, write_eval_log
    written = datetime.fromtimestamp(store.path.stat().st_mtime, UTC)
    samples = [
        _sample(store.conversation(row.place), row.place, store.assessment(row.place), written)
        for row in store.listing()
        if row.stop not in (None, "error")
    ]
    results = EvalResults(
        total_samples=len(samples), completed_samples=len(samples), scores=[_means(samples, name) for name in MEASURES]
    )
    log = EvalLog(status="success", eval=_spec(store, samples, written), results=results, samples=samples)
    write_eval_log(log, str(path), format="eval")
    return len(samples)


def _sample(talk: Conversation, place: int, assessment: Mapping[str, Any] | None, written: datetime) -> EvalSample:
    """A conversation as a sample.  Each reply is also the event of a model, where Inspect's data frames look for it."""
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, GenerateConfig, ModelOutput

    setting, data = talk.setting, talk.to_dict()
    names = "+".join(setting["assistants"])
    name = f"{setting['artifact']}/{setting['trial']}/{names}"
    messages: list[ChatMessage] = []
    events: list[ModelEvent] = []
    output = ModelOutput(model=names)
    for at, said in enumerate(talk.messages()):
        if said.role == "user":
            messages.append(ChatMessageUser(id=f"{name}/{at}", content=said.content))
            continue
        output = ModelOutput.from_content(names, said.content)
        output.choices[0].message = ChatMessageAssistant(id=f"{name}/{at}", content=said.content, model=names)
        asked = {"model": names, "input": [*messages], "tools": [], "tool_choice": "none", "config": GenerateConfig()}
        events.append(ModelEvent(**asked, output=output, timestamp=written, working_start=0.0))
        messages.append(output.message)
    return EvalSample(
        id=name,
        epoch=1,
        input=talk.tree.initial_request,
        target="",
        messages=messages,
        events=events,
        output=output,
        scores={SCORER: measures(data) if was_judged(talk) else unscored(NOT_JUDGED)},
        metadata={key: setting[key] for key in ("artifact", "trial", "assistants", "domain") if key in setting},
        store={"conversation": data, "place": place} | ({"assessment": assessment} if assessment else {}),
    )


def was_judged(talk: Conversation) -> bool:
    """Whether any of its replies was judged.  The authors' files have no judgments."""
    return any(turn.candidate.evaluation for turn in talk.turns)


def _means(samples: Sequence[EvalSample], name: str) -> Any:
    from inspect_ai.log import EvalMetric, EvalScore

    values = [(sample.scores or {})[SCORER].value[name] for sample in samples]  # type: ignore[index, call-overload]
    known = [value for value in values if not math.isnan(value)]  # type: ignore[arg-type]
    mean = math.fsum(known) / len(known) if known else math.nan  # type: ignore[arg-type]
    return EvalScore(
        name=name,
        scorer=SCORER,
        scored_samples=len(known),
        unscored_samples=len(values) - len(known),
        metrics={"mean": EvalMetric(name="mean", value=mean)},
    )


def _spec(store: RunStore, samples: Sequence[EvalSample], written: datetime) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

    configuration = store.configuration
    names = [str(name) for name in configuration.get("assistants", ())]
    return EvalSpec(
        created=written.isoformat(),
        task=f"discover_{configuration.get('kind', 'run')}",
        dataset=EvalDataset(
            name=str(configuration.get("domain") or "trees"),
            samples=len(samples),
            sample_ids=[str(sample.id) for sample in samples],
        ),
        model="/".join(names) or "imported",
        config=EvalConfig(),
        metadata={"configuration": configuration},
        viewer=viewer(),
    )


# -- a log as a run --------------------------------------------------------------------------------------------------


def import_log(path: Path, folder: Path) -> int:
    """Keep the conversations of an Inspect log as a run in `folder`; returns how many there are.

    They are as they were, assessments included.

    Raises:
        DiscoverError: another log, inspect-ai is not installed, or conversations under several rules.
        StoreError: the folder holds something else.
    """
    log = opened_log(path)
    kept = list(_conversations(path, log))
    talks, assessments = [talk for talk, _ in kept], [assessment for _, assessment in kept]
    configuration = {"kind": "import", "files": [str(path)], "rules": talks[0].rules.to_dict() if talks else {}}
    ours = (log.eval.metadata or {}).get("configuration")
    if isinstance(ours, dict) and ours.get("turns", MAX_TURNS) != MAX_TURNS:
        configuration["turns"] = ours["turns"]  # which the ceiling depends on
    return keep_run(folder, talks, configuration, assessments)


def opened_log(path: Path) -> EvalLog:
    """A log as Inspect itself reads it, attachments in their places.

    Raises:
        DiscoverError: it is no such log, or inspect-ai is not here.
    """
    with library("reading and writing Inspect's logs", "inspect-ai", "inspect"):
        from inspect_ai.log import read_eval_log
    try:
        return read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # Inspect's reader raises many kinds of errors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DiscoverError(f"{path}: not a log of Inspect ({reason:.200})") from None


def _conversations(path: Path, log: EvalLog) -> Iterator[tuple[Conversation, Assessment | None]]:
    for sample in sorted(log.samples or (), key=lambda sample: sample.store.get("place", 0)):  # not by id
        ours, assessment = sample.store.get("conversation"), sample.store.get("assessment")
        if ours is None:
            raise DiscoverError(f"{path}: sample {sample.id} is not a conversation of this project")
        try:
            yield Conversation.from_dict(ours), Assessment.from_dict(assessment) if assessment else None
        except ValueError as error:
            raise DiscoverError(f"{path}: sample {sample.id}: {error}") from None


# -- logs of benchmarks that others own --------------------------------------------------------------------------------

WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Answer:
    """One reply to a benchmark's prompt.

    Attributes:
        reply: None without a reply.
        scores: scorer of the benchmark → its number; a scorer without a number is left out.
    """

    prompt: str
    reply: str | None
    scores: Mapping[str, float] = field(default_factory=dict)


def read_benchmark(path: Path) -> list[Answer]:
    """The answers in a log of Inspect: one for each sample.  A scorer that gives several values is one score for each.

    Raises:
        DiscoverError: it is not such a log, it holds no answer, or inspect-ai is not installed.
    """
    answers = []
    for sample in opened_log(path).samples or ():
        asked = sample.input
        prompt = asked if isinstance(asked, str) else "\n\n".join(each.text for each in asked if each.role == "user")
        numbers: dict[str, float | None] = {}
        for name, score in (sample.scores or {}).items():
            several = score.value if isinstance(score.value, dict) else {"": score.value}
            numbers |= {f"{name}.{key}".rstrip("."): as_score(value) for key, value in several.items()}
        known = {name: number for name, number in numbers.items() if number is not None}
        reply = sample.output.completion if sample.output.choices and not sample.error else None
        answers.append(Answer(prompt, reply, known))
    if not answers:
        raise DiscoverError(f"{path}: a log of Inspect without a prompt")
    return answers


def as_score(value: Any) -> float | None:
    """The number of a score: Inspect's letters (C, P, I, N), words and digits; None for anything else."""
    if isinstance(value, str):
        text = value.strip().lower()
        try:
            value = WORDS.get(text) if text in WORDS else float(text)
        except ValueError:
            return None
    number = float(value) if isinstance(value, bool | int | float) else None
    return number if number is not None and math.isfinite(number) else None
