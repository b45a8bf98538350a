"""HTML fragments for training: where a run stands, its curves, what the model wrote, a GRPO group as arithmetic.

Curves are drawn from the lines of a run's `metrics.jsonl`, with whatever part of them is there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.words import duration
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.intervals import Estimate, percent
from discover_lib.tasks.told import number
from discover_lib.train.grpo import Group
from discover_lib.train.training_job import JobStatus, alarms
from workbench.views import conversation_parts as show
from workbench.views.charts import SMOOTHED, SMOOTHED_FROM, group_bars, in_words, small_curve, turn_curves
from workbench.views.html import EMPTY, Markup, more, progress, quiet, tag
from workbench.views.html import styled as styled
from workbench.views.theme import looks

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """One drawing: a title, and which columns are drawn in it under which names."""

    title: str
    series: Mapping[str, str]
    whole: bool = False  # a share: the axis is 0 to 1
    interval: tuple[str, str] | None = None  # columns with the ends of an interval of the first series
    from_zero: bool = False  # an amount: the axis begins at 0
    if_any: bool = False  # drawn only where some value is not 0

    def drawable(self, lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
        """Name → (step, value) of the columns that occur."""
        series = {name: points(lines, column) for column, name in self.series.items()}
        if self.if_any and not any(value for listed in series.values() for _, value in listed):
            return {}
        return {name: listed for name, listed in series.items() if listed}


CHARTS = (
    Chart("Loss", {"loss": "training rows", "eval_loss": "held-out rows"}),
    Chart("Reward", {"reward": "mean of the batch"}),
    Chart("Parts of the reward", {"reward/discovered": "newly discovered", "reward/length": "length"}),
    Chart(
        "What the replies are",
        {"share/diverging": "diverging", "share/building": "building", "share/broken": "broken"},
        whole=True,
    ),
    Chart(
        "Whole conversations with held-out users",
        {"probe/discovered": "discovered, 95% interval"},
        interval=("probe/discovered_low", "probe/discovered_high"),
    ),
    Chart("Chosen reply preferred to rejected reply", {"rewards/accuracies": "share of the pairs"}, whole=True),
    Chart("Margin of the implicit rewards", {"rewards/margins": "chosen minus rejected"}),
    Chart("Distance from the reference", {"kl": "KL per token"}),
    Chart("Accuracy of the next token", {"mean_token_accuracy": "share of the tokens"}, whole=True),
    Chart("Groups without a signal", {"frac_reward_zero_std": "all rewards equal"}, whole=True),
    Chart("Replies that could not be scored", {"share/unscored": "share"}, whole=True, if_any=True),
    Chart("Cost of judge and voice, dollars", {"spent/total": "in all"}, from_zero=True, if_any=True),
    Chart("Simulator’s share of a step", {"simulator/share": "of the time"}, whole=True),
    Chart("Peak memory, MB", {"memory_mb": "so far"}, from_zero=True),
)
READING = {
    "Loss": "The model's error on the exact words of its rows: lower is better. Held-out rows are not trained on. "
    "Where their loss rises, the model learns by heart. Users can still discover more, because discovery counts "
    "intents in any words.",
    "Reward": "What the replies earn from the simulated user: higher is better.",
}
NO_CURVES = {
    "step",
    "epoch",
    "total_steps",
    "seconds",
    "eta_seconds",
    "round",
    "probe/users",
    "probe/failed",
    "train_loss",
}


def points(lines: Sequence[Line], column: str) -> list[tuple[int, float]]:
    """(step, value) wherever a column holds a number; what could not be scored is left out."""
    values = ((line.get("step"), line.get(column)) for line in lines)
    return [
        (int(step), float(value))
        for step, value in values
        if isinstance(step, (int, float)) and isinstance(value, (int, float)) and math.isfinite(value)
    ]


# -- curves ------------------------------------------------------------------------------------------------------------


def curves(
    lines: Sequence[Line],
    total_steps: int | None = None,
    resumed_at: Iterable[int] = (),
    without: Chart | None = None,
) -> Markup:
    """Small drawings beside each other, one for each quantity that was logged.

    Args:
        lines: the logged lines.
        total_steps: the right end of the axes, so that one sees how far it is.
        resumed_at: steps from which the run resumed; marked by a dashed line.
        without: a chart that is drawn elsewhere.
    """
    if not _last(lines):
        return quiet("No step is logged yet.")
    known = NO_CURVES | {column for chart in CHARTS for column in (*chart.series, *(chart.interval or ()))}
    # In the order in which they were first logged.
    others = dict.fromkeys(name for line in lines for name in line if name not in known and points([line], name))
    rest = [Chart(name.replace("_", " "), {name: "as logged"}) for name in others]
    shown, folded = (
        tag("div", *(_drawn(chart, lines, total_steps, resumed_at) for chart in charts), class_="dt-curves")
        for charts in ([chart for chart in CHARTS if chart is not without], rest)
    )
    smooth = f"Bold: mean of the last {SMOOTHED} logged points. Thin: as logged." if len(lines) >= SMOOTHED_FROM else ""
    dashed = " Dashed vertical line: resumed from a checkpoint." if any(resumed_at) else ""
    return (
        shown + quiet(f"{smooth}{dashed}", small=True) + (more("all other logged metrics", folded) if rest else EMPTY)
    )


def main_chart(lines: Sequence[Line]) -> Chart | None:
    """The chart of the reward where one was logged, else of the loss."""
    return next((chart for chart in (CHARTS[1], CHARTS[0]) if chart.drawable(lines)), None)


def main_curve(
    lines: Sequence[Line], total_steps: int | None, resumed_at: Iterable[int] = (), earlier: Sequence[Line] = ()
) -> Markup:
    """The reward where one was logged, else the loss, and how to read it; that of an earlier run in gray.

    Before the first update only the earlier run is drawn.

    Args:
        total_steps, resumed_at: as of `curves`.
    """
    chart = main_chart(lines) or main_chart(earlier)
    if chart is None:
        return EMPTY
    drawn = _drawn(chart, lines, total_steps, resumed_at, earlier)
    before, now = (dict(points(each, next(iter(chart.series)))) for each in (earlier, lines))
    # Curves of the same run on two machines differ by rounding.
    same = now and all(math.isclose(now[step], before.get(step, math.nan), rel_tol=0.01) for step in now)
    gray = f" Gray: {'the same run, made earlier' if same else 'the previous run'}." if before else ""
    return tag("div", drawn, quiet(READING[chart.title] + gray, small=True), class_="dt-main")


def _last(lines: Sequence[Line]) -> int:
    return max((int(line["step"]) for line in lines), default=0)


def _drawn(
    chart: Chart,
    lines: Sequence[Line],
    total_steps: int | None,
    resumed_at: Iterable[int],
    earlier: Sequence[Line] = (),
) -> Markup:
    """One chart, with its intervals; nothing where none of its columns was logged."""
    series, end = chart.drawable(lines), max(_last(lines), total_steps or 0)
    behind = [point for point in points(earlier, next(iter(chart.series))) if point[0] <= (end or point[0])]
    if not series and not behind:
        return EMPTY
    low, high = (dict(points(lines, column)) for column in chart.interval or ("", ""))
    intervals = [(step, low[step], high[step]) for step in low if step in high]
    marks = sorted({step for step in resumed_at if 0 < step <= end})
    return small_curve(
        chart.title,
        series,
        end or behind[-1][0],
        number,
        whole=chart.whole,
        from_zero=chart.from_zero,
        marks=marks,
        intervals=intervals,
        behind=behind,
    )


def alarm_lines(lines: Sequence[Line]) -> Markup:
    """Signs in what was logged that training goes wrong."""
    return show.joined(show.notice(f"{text[0].upper()}{text[1:]}.", tone="open") for text in alarms(lines).values())


# -- what training changes ---------------------------------------------------------------------------------------------

TRAINED = ("base", "SFT", "DPO", "SFT+DPO", "SFT+DPO+GRPO")


def trained_before(results: Mapping[str, Any]) -> Markup:
    """What training changed in a finished paper run (`discover miniature`): a curve for each model, and a sentence.

    Args:
        results: its `results.json`.
    """
    scope = results["evaluation"]["scopes"][0]
    named = [name for name in TRAINED if name in scope["curves"]]
    curves = {name: [Estimate(**each) for each in scope["curves"][name]] for name in named}
    best = max(named, key=lambda name: curves[name][-1].mean)
    ends = ", ".join(f"{name} {percent(curves[name][-1].mean)}" for name in named)
    words = (
        "A larger run, made earlier. "
        f"Users discovered, of their hidden intents, after {len(curves[best])} turns: {ends}."
    )
    size = (
        f"Tiny models, {scope['users']} conversations each (n = {scope['artifacts']} artifacts) "
        "with users that no model had been trained on; one still emerging counts half; bands are 95% intervals; seed "
        f"{results['options']['seed']} of “discover miniature”."
    )
    chart = turn_curves(curves, looks(named), "Share discovered, by training", (best, "base"))
    return tag("p", tag("b", words)) + chart + quiet(size, small=True)


def change(before: Estimate, after: Estimate, difference: Estimate | None = None) -> str:
    """What a training changed, in words: both shares of the hidden intents, and their difference where it is known."""
    told = (
        f"Users discover this share of their hidden intents: before training {in_words(before, percent)}, "
        f"after training {in_words(after, percent)}."
    )
    if difference is None or difference.low is None or difference.high is None:
        return told
    mean, low, high = (show.signed(round(100 * each)) for each in (difference.mean, difference.low, difference.high))
    sure = "" if difference.low * difference.high > 0 else " The two cannot be told apart."
    return f"{told} For the same users, it changes by {mean} points (95% interval {low} to {high}).{sure}"


# -- where a run stands ------------------------------------------------------------------------------------------------

STATE_TONES = {"finished": "known", "failed": "bad", "stopped": "emerging", "stopping": "emerging"}


LOADING = ("start Python", "load torch", "load the libraries and the model", "compute the first update")
LOADS = 0.25  # of the bar
SILENT = 20.0  # seconds without a sign of life before it is said


def loading(status: JobStatus) -> int:
    """Which step of `LOADING` a run is at, from 1; 0 where it trains, or has ended."""
    if status.state == "starting":
        return 1
    if not status.going or (status.step > max(status.resumed, default=0) and status.message != "starting"):
        return 0
    return 2 if status.message == "starting" else 3 if status.message.startswith("trains on") else 4


def standing(status: JobStatus, last: Line | None = None) -> Markup:
    """One run: its state, how far it is, how long it will take, and what it said last.

    Args:
        last: the last logged line, for the time left.
    """
    loads, silent, total = loading(status), time.time() - status.updated, status.total_steps
    facts = [
        f"update {status.step:,}{f' of {total:,}' if total else ''}" if status.step else "",
        f"resumed from update {status.resumed[-1]:,}" if status.resumed else "",
    ]
    if loads:
        facts = [f"step {loads} of {len(LOADING)} to the first update: {LOADING[loads - 1]} …"]
    elif last is not None and status.going:
        facts += [
            f"about {duration(float(last['eta_seconds']))} left" if last.get("eta_seconds") else "",
            f"peak memory {float(last['memory_mb']):,.0f} MB" if last.get("memory_mb") else "",
        ]
    facts.append(f"no sign of life for {duration(silent)}" if status.going and silent > SILENT else "")
    said = quiet("" if status.message == "starting" else status.message, small=True)
    message = show.error_line(status.message) if status.state == "failed" else said
    done = (loads - 1) / len(LOADING) * LOADS if loads else LOADS + (1 - LOADS) * status.step / (total or 1)
    chip = tag(
        "span",
        status.state,
        class_="dl-chip",
        data_tone=STATE_TONES.get(status.state, "plain"),
        data_job=status.state,
    )
    line = (chip, " ", tag("span", " · ".join(filter(None, facts))))
    return tag("div", tag("p", *line, class_="dt-head"), progress(done), message, role="status")


def kept_round(result: Mapping[str, Any]) -> Markup:
    """Which round's adapter a finished GRPO run has kept, if its rounds were measured."""
    if result.get("kept_round") is None:
        return EMPTY
    if result["kept_round"] == 0:
        return quiet(
            "Training did not help: held-out users discovered most with the model before training. The "
            "adapter changes nothing."
        )
    return quiet(
        f"The adapter is from round {result['kept_round']}: after this round, held-out users discovered most in whole "
        "conversations.",
        small=True,
    )


# -- what the model wrote ----------------------------------------------------------------------------------------------


def exchange(asked: Sequence[Mapping[str, str]], replies: Mapping[str, str], marks: Mapping[str, Markup]) -> Markup:
    """One prompt, and what models answered, side by side: title → reply, as people read it.

    Args:
        asked: messages with role and content; the system's are left out.
        marks: title → what stands above its reply.
    """
    bubbles = (show.bubble(each["role"], show.rich_text(each["content"])) for each in asked if each["role"] != "system")
    sides = (
        show.panel(title, marks.get(title, EMPTY), show.rich_text(text) if text.strip() else quiet("(nothing)"))
        for title, text in replies.items()
    )
    return tag("div", *bubbles, class_="dl-chat") + show.beside(*sides)


def before_after(talks: Mapping[str, Conversation]) -> Markup:
    """Conversations of the same user side by side: name → conversation, with what each helped to discover."""

    def side(name: str, talk: Conversation) -> Markup:
        known, tokens = len(talk.start.discovered), sum(turn.reply.n_tokens for turn in talk.turns)
        title = (
            f"{name}: {len(talk.state.discovered) - known} of {len(talk.tree) - known} discovered, {tokens:,} tokens"
        )
        window = tag("div", show.chat(talk), class_="dt-talk", tabindex=0, role="region", aria_label=title)
        return show.panel(title, window)

    return show.beside(*(side(name, talk) for name, talk in talks.items()))


# -- a group -----------------------------------------------------------------------------------------------------------


def group_picture(group: Group, labels: Sequence[str]) -> Markup:
    """The rewards of a group around their mean, and what the update makes of each reply."""
    rewards = dict(zip(labels, group.rewards, strict=True))
    drawn = group_bars(rewards, dict(zip(labels, group.advantages, strict=True)), group.mean)
    return drawn + quiet(
        "" if group.signal else "All scored rewards are equal, so every advantage is 0 and this group teaches nothing."
    )
