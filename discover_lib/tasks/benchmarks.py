"""Benchmarks of others, two assistants on the same prompts: rates, and differences paired by prompt."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_text_lines
from discover_lib.dataset.inspect_log import Answer
from discover_lib.engines.llm.assistants import model_and_style
from discover_lib.engines.llm.calls.wires import PREFIX
from discover_lib.engines.spec import asked_assistants
from discover_lib.metrics.intervals import Estimate, Share, Values, bootstrap_mean, share_of
from discover_lib.metrics.paired import Comparison, compare, p_text
from discover_lib.metrics.scorer import RefusalJudge

REFUSED = "refused, as read here"
NO_KEY = "none"  # Inspect requires a key, even for servers without keys


@dataclass(frozen=True)
class Rate:
    """One scorer's result for one assistant.

    Attributes:
        value: a share of prompts where all replies to one have one verdict; else a mean, replies to one averaged.
        against: the difference to the first assistant; None for itself.
        differing: prompts on which the two differ.
    """

    scorer: str
    assistant: str
    value: Share | Estimate
    n: int
    against: Comparison | None
    differing: int


@dataclass(frozen=True)
class Benchmarked:
    """Assistants on the prompts that all of them answered.

    Attributes:
        left_out: assistant → prompts of its log that another did not answer, or it itself.
    """

    rates: Sequence[Rate]
    prompts: int
    left_out: Mapping[str, int]


def benchmarked(logs: Mapping[str, Sequence[Answer]], judge: RefusalJudge) -> Benchmarked:
    """Every scorer of the benchmark and the judge of refusals, on the prompts that all assistants answered.

    Raises:
        DiscoverError: no prompt was answered by all.
        ScoreError: the judge gave no verdict.
    """
    answered = {name: {each.prompt for each in answers if each.reply is not None} for name, answers in logs.items()}
    shared = set.intersection(*answered.values())
    if not shared:
        raise DiscoverError(f"no prompt was answered by {' and '.join(logs)}: are the logs of the same benchmark?")
    verdicts: dict[str, dict[str, dict[str, list[float]]]] = {}  # scorer → assistant → prompt → one a reply
    for name, answers in logs.items():
        for each in answers:
            if each.reply is None or each.prompt not in shared:
                continue
            refused = float(judge.refuses(each.prompt, each.reply))
            for scorer, value in {**each.scores, REFUSED: refused}.items():
                verdicts.setdefault(scorer, {}).setdefault(name, {}).setdefault(each.prompt, []).append(value)
    rates = [
        rate for scorer, values in verdicts.items() if values.keys() == logs.keys() for rate in _rates(scorer, values)
    ]
    return Benchmarked(
        sorted(rates, key=lambda rate: rate.scorer == REFUSED),
        len(shared),
        {name: len({each.prompt for each in answers} - shared) for name, answers in logs.items()},
    )


def _rates(scorer: str, values: Mapping[str, Values]) -> list[Rate]:
    """Of every assistant, on the prompts that the scorer gave a number for in all logs."""
    first, *others = values
    prompts = set.intersection(*(set(each) for each in values.values()))
    if not prompts:
        return []
    kept = {name: {prompt: each[prompt] for prompt in prompts} for name, each in values.items()}
    comparisons = {each.ours: each for each in compare(kept, [(name, first) for name in others])}
    means = {name: {prompt: sum(replies) / len(replies) for prompt, replies in of.items()} for name, of in kept.items()}
    return [
        Rate(
            scorer,
            name,
            _value(of),
            len(prompts),
            comparisons.get(name),
            sum(means[name][prompt] != means[first][prompt] for prompt in prompts),
        )
        for name, of in kept.items()
    ]


def _value(of: Values) -> Share | Estimate:
    verdicts = [set(replies) for replies in of.values()]
    if all(each in ({0.0}, {1.0}) for each in verdicts):  # a bootstrap would be sure of what it saw a few times
        return share_of(verdicts.count({1.0}), len(verdicts))
    return bootstrap_mean(of)


RATE_HEAD = ("scorer", "assistant", "rate", "difference")
RATE_MEANING = (
    "Scores come from the benchmark's owner, who defines their meaning. 95% "
    "intervals over prompts; differences to the first assistant, paired by prompt, p by sign flips (Holm)."
)


def rate_row(rate: Rate) -> list[str]:
    """A scorer's rate of an assistant."""
    value = str(rate.value) if isinstance(rate.value, Share) else f"{rate.value} (n = {rate.n:,})"
    return [rate.scorer, rate.assistant, value, _told(rate)]


def _told(rate: Rate) -> str:
    if (how := rate.against) is None:
        return "–"
    if not rate.differing:
        return f"the same on all {rate.n:,} prompts"
    told = f"{how.difference} (p {p_text(how.p_adjusted)}, n = {rate.n:,})"
    return told if how.distinguishable else told + (" too few for a verdict" if how.too_few else " not distinguishable")


# -- benchmarks run by Inspect's own command ---------------------------------------------------------------------------

LOG, OUTPUT = "*.eval", "output.txt"


@dataclass(frozen=True)
class Asked:
    """A benchmark to be run.

    Attributes:
        task: as Inspect names it.
        api_base: of an OpenAI-compatible server; None: Inspect reaches the model as it does by itself.
        more: arguments handed to Inspect as they are.
    """

    task: str
    api_base: str | None = None
    key: str = NO_KEY
    more: Sequence[str] = ()


def _arguments(asked: Asked, model: str, folder: Path) -> list[str]:
    """Arguments of Inspect's command."""
    server = ["--model-base-url", asked.api_base] if asked.api_base else []
    name = f"openai-api/discover/{model.removeprefix(PREFIX)}" if asked.api_base else model
    return ["eval", asked.task, "--model", name, *server, "--log-dir", str(folder), "--log-format", "eval"]


def check_inspect() -> None:
    """Whether Inspect is on this machine.

    Raises:
        DiscoverError: it is not; the message says how to get it.
    """
    if _inspect() is None or importlib.util.find_spec("inspect_ai") is None:
        raise DiscoverError(
            "--via inspect needs inspect on this machine: pip install 'discover-lib[inspect]', and its benchmarks: "
            "pip install inspect-evals"
        )


def _inspect() -> str | None:
    """Its command, beside this Python or wherever the shell finds it."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which("inspect", path=places)


def check_names(assistants: Sequence[str], api_base: str | None) -> None:
    """Whether Inspect can reach these assistants.

    Raises:
        DiscoverError: naming the one that it cannot.
    """
    behind = asked_assistants(assistants)
    for name in assistants:
        if name not in behind:
            raise DiscoverError(f"{name} speaks in this program alone; serve a model first (docs/serving.md)")
        if model_and_style(name)[1]:
            raise DiscoverError(f"{name}: a benchmark brings its own system prompt; give {model_and_style(name)[0]}")
        if api_base and not name.startswith(PREFIX):
            raise DiscoverError(f"{name}: behind --api-base a model is named openai/NAME")


def log_folders(assistants: Sequence[str], out: Path) -> dict[str, Path]:
    """Assistant → the folder of its log.

    Raises:
        DiscoverError: the folder holds an earlier run, which was paid for and is not replaced.
    """
    folders = {}
    for place, name in enumerate(assistants, 1):
        folders[name] = out / f"{place}-{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}"
        if any(folders[name].glob(LOG)):
            raise DiscoverError(f"{folders[name]}: holds an earlier run; read it with --log, or choose another --out")
    return folders


def run_benchmark(asked: Asked, model: str, folder: Path) -> Path:
    """Run Inspect once; returns its log.  What it prints is kept beside that.

    Raises:
        DiscoverError: it failed, or wrote no log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [_inspect() or "inspect", *_arguments(asked, model, folder.resolve()), *asked.more]
    write_text_lines(folder / "command.txt", [shlex.join(command)])
    output = folder / OUTPUT
    with output.open("wb") as file:
        environment = {**os.environ, **({"DISCOVER_API_KEY": asked.key} if asked.api_base else {})}
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False
        )
    logs = sorted(folder.glob(LOG))
    if done.returncode or len(logs) != 1:
        what = f"ended with {done.returncode}" if done.returncode else f"wrote {len(logs)} logs, not one"
        said = [line for line in output.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        raise DiscoverError(f"inspect {what} for {model}: {''.join(said[-1:])[:200]}; all it said: {output}")
    return logs[0]
