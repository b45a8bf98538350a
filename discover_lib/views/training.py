"""HTML fragments for training: where a run stands, its curves, what the model wrote, a GRPO group as arithmetic.

Like `views.conversation`, whose stylesheet and colours these share: pure functions, every text escaped.  Curves are
drawn from the lines of a run's `metrics.jsonl`, with whatever part of them is there.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.core.conversation import Candidate
from discover_lib.train.grpo.group import Group
from discover_lib.train.jobs import JobStatus
from discover_lib.views import conversation as show

WIDTH, HEIGHT = 320, 110  # units of a drawing; it scales with the page
SMOOTHED = 5  # logged points that a bold line averages
SMOOTHED_FROM = 12  # fewer points than this are joined as they are
TICK_WORDS = {1e9: "G", 1e6: "M", 1e3: "k"}

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Chart:
    """One drawing: a title, and which columns are drawn in it under which names."""

    title: str
    series: Mapping[str, str]
    whole: bool = False  # a share: the axis is 0 to 1
    interval: tuple[str, str] | None = None  # columns with the ends of an interval of the first series
    if_any: bool = False  # drawn only where some value is not 0

    def drawable(self, lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
        """Name → (step, value) of the columns that occur."""
        found = {name: points(lines, column) for column, name in self.series.items()}
        if self.if_any and not any(value for listed in found.values() for _, value in listed):
            return {}
        return {name: listed for name, listed in found.items() if listed}


CHARTS = (
    Chart("Loss", {"loss": "training", "eval_loss": "held out", "loss/dpo": "DPO part", "loss/sft": "SFT part"}),
    Chart("Reward", {"reward": "mean of the batch"}),
    Chart("Parts of the reward", {"reward/discovered": "newly discovered", "reward/length": "length"}),
    Chart(
        "What the replies are",
        {"share/diverging": "diverging", "share/building": "building", "share/broken": "broken"},
        whole=True,
    ),
    Chart(
        "Whole conversations with held-out users",
        {"probe/discovered": "discovered, 95 % interval"},
        interval=("probe/discovered_low", "probe/discovered_high"),
    ),
    Chart("Chosen preferred to rejected", {"rewards/accuracies": "share of the pairs"}, whole=True),
    Chart("Margin of the implicit rewards", {"rewards/margins": "chosen less rejected"}),
    Chart("Distance from the reference", {"kl": "KL per token"}),
    Chart("Next token right", {"mean_token_accuracy": "share of the tokens"}, whole=True),
    Chart("Groups without a signal", {"frac_reward_zero_std": "all rewards equal"}, whole=True),
    Chart("Replies that could not be scored", {"share/unscored": "share"}, whole=True, if_any=True),
    Chart("Simulator’s share of a step", {"simulator/share": "of the time"}, whole=True),
    Chart("Speed", {"tokens_per_second": "tokens a second"}),
    Chart("Peak memory", {"memory_mb": "MB"}),
)
NO_CURVES = {"step", "epoch", "total_steps", "seconds", "eta_seconds", "round", "probe/users", "probe/failed"}


def styled(*fragments: str) -> str:
    """Fragments ready to be shown, with both stylesheets."""
    return f"{show.styled(*fragments)}<style>{show.static_text('show_training.css')}</style>"


def points(lines: Sequence[Line], column: str) -> list[tuple[int, float]]:
    """(step, value) wherever a column holds a number; what could not be scored is left out."""
    found = ((line.get("step"), line.get(column)) for line in lines)
    return [
        (int(step), float(value))
        for step, value in found
        if isinstance(step, (int, float)) and isinstance(value, (int, float)) and math.isfinite(value)
    ]


def smoothed(values: Sequence[float], width: int = SMOOTHED) -> list[float]:
    """The mean of each value and those before it, at most `width` together."""
    windows = (values[max(0, at + 1 - width) : at + 1] for at in range(len(values)))
    return [sum(each) / len(each) for each in windows]


# -- curves ------------------------------------------------------------------------------------------------------------


def curves(lines: Sequence[Line], total_steps: int | None = None, resumed_at: Iterable[int] = ()) -> str:
    """Small drawings beside each other, one for each quantity that was logged.

    Args:
        lines: those that stand (see `jobs.standing_lines`).
        total_steps: the right end of the axes, so that one sees how far it is.
        resumed_at: steps from which the run was gone on with; marked by a dashed line.
    """
    last = max((int(line["step"]) for line in lines), default=0)
    if not last:
        return '<p class="dl-quiet">No step is logged yet.</p>'
    marks = sorted({step for step in resumed_at if 0 < step <= last})
    drawn = [
        _drawing(chart, series, max(last, total_steps or 0), marks, _intervals(chart, lines))
        for chart in CHARTS
        if (series := chart.drawable(lines))
    ]
    known = NO_CURVES | {column for chart in CHARTS for column in (*chart.series, *(chart.interval or ()))}
    others = dict.fromkeys(
        name for line in lines for name in line if name not in known and points([line], name)
    )  # in the order in which they were first logged
    rest = [
        _drawing(Chart(name.replace("_", " "), {name: "as logged"}), {"as logged": points(lines, name)}, last, marks)
        for name in others
    ]
    smooth = f"Bold: mean of the last {SMOOTHED} logged points. Thin: as logged." if len(lines) >= SMOOTHED_FROM else ""
    dashed = " Dashed upright: gone on from a checkpoint." if marks else ""
    note = f'<p class="dl-quiet dl-small">{smooth}{dashed}</p>' if smooth or dashed else ""
    more = (
        '<details class="dl-more"><summary>everything else that the trainer logged</summary>'
        f'<div class="dt-curves">{"".join(rest)}</div></details>'
        if rest
        else ""
    )
    return f'<div class="dt-curves">{"".join(drawn)}</div>{note}{more}'


def latest(lines: Sequence[Line]) -> dict[str, Any]:
    """The last value of every column, over all lines: not every line holds them all."""
    return {name: value for line in lines for name, value in line.items() if value is not None}


def _intervals(chart: Chart, lines: Sequence[Line]) -> list[tuple[int, float, float]]:
    """(step, low, high) wherever both ends were logged."""
    if chart.interval is None:
        return []
    low, high = (dict(points(lines, column)) for column in chart.interval)
    return [(step, low[step], high[step]) for step in low if step in high]


def _drawing(
    chart: Chart,
    series: Mapping[str, list[tuple[int, float]]],
    last: int,
    marks: Sequence[int],
    intervals: Sequence[tuple[int, float, float]] = (),
) -> str:
    values = [value for listed in series.values() for _, value in listed]
    values += [end for _, *ends in intervals for end in ends]
    low, high = (0.0, 1.0) if chart.whole else _span(values)
    bold = any(len(listed) >= SMOOTHED_FROM for listed in series.values())

    def x(step: float) -> float:
        return WIDTH * step / last

    def y(value: float) -> float:
        return HEIGHT * (1 - (min(max(value, low), high) - low) / (high - low))

    upright = "".join(
        f'<line class="dt-mark" x1="{x(step):.1f}" x2="{x(step):.1f}" y1="0" y2="{HEIGHT}"/>' for step in marks
    )
    upright += "".join(
        f'<line class="dt-interval" data-series="0" x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{y(end):.1f}" '
        f'y2="{y(begin):.1f}"/>'
        for step, begin, end in intervals
    )
    zero = f'<line class="dt-zero" x1="0" x2="{WIDTH}" y1="{y(0):.1f}" y2="{y(0):.1f}"/>' if low < 0 < high else ""
    paths = "".join(_paths(place, listed, x, y, bold) for place, listed in enumerate(series.values()))
    legend = "".join(
        f'<span><i data-series="{place}"></i>{html.escape(name)} <b>{number(listed[-1][1])}</b></span>'
        for place, (name, listed) in enumerate(series.items())
    )
    told = "; ".join(f"{name} {number(listed[-1][1])}" for name, listed in series.items())
    return (
        f'<figure class="dt-curve"><figcaption>{html.escape(chart.title)}</figcaption>'
        f'<div class="dt-plot"><div class="dt-y"><span>{number(high)}</span><span>{number(low)}</span></div>'
        f'<svg viewBox="0 -4 {WIDTH} {HEIGHT + 8}" preserveAspectRatio="none" role="img" '
        f'aria-label="{html.escape(f"{chart.title} up to step {series_end(series)}: {told}")}">'
        f'<rect class="dt-area" x="0" y="0" width="{x(series_end(series)):.1f}" height="{HEIGHT}"/>'
        f"{upright}{zero}{paths}</svg></div>"
        f'<div class="dt-x"><span>0</span><span>step {last:,}</span></div>'
        f'<div class="dt-legend">{legend}</div></figure>'
    )


def series_end(series: Mapping[str, Sequence[tuple[int, float]]]) -> int:
    """The last step of any of them."""
    return max(listed[-1][0] for listed in series.values())


def _paths(
    place: int,
    listed: Sequence[tuple[int, float]],
    x: Callable[[float], float],
    y: Callable[[float], float],
    bold: bool,
) -> str:
    def line(values: Iterable[float], kind: str) -> str:
        steps = (step for step, _ in listed)
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in zip(steps, values, strict=True))
        return f'<polyline class="dt-{kind}" data-series="{place}" points="{path}"/>'

    raw = [value for _, value in listed]
    if len(listed) == 1:
        return f'<circle class="dt-dot" data-series="{place}" cx="{x(listed[0][0]):.1f}" cy="{y(raw[0]):.1f}" r="2.5"/>'
    return line(raw, "raw") + line(smoothed(raw), "line") if bold else line(raw, "line")


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, at round numbers; zero is kept in where it is near."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    low = min(low, 0.0) if 0 <= low <= high - low else low
    high = max(high, 0.0) if low - high <= high <= 0 else high
    step = 10.0 ** math.floor(math.log10(high - low)) / 5
    return math.floor(low / step) * step, math.ceil(high / step) * step


def number(value: float) -> str:
    """A figure as an axis or a legend shows it: three digits that count."""
    size = abs(value)
    for one, word in TICK_WORDS.items():
        if size >= 10 * one or (size >= one and one > 1e3):
            return f"{value / one:.3g}{word}".replace("-", "−")
    shown = f"{value:,.0f}" if size >= 100 else f"{value:.3g}"
    if 0 < size < 1e-4:
        shown = f"{value:.1e}"
    return shown.replace("-", "−")


# -- where a run stands ------------------------------------------------------------------------------------------------

STATE_TONES = {"finished": "known", "failed": "bad", "stopped": "emerging", "stopping": "emerging"}


def standing(name: str, status: JobStatus, last: Line | None = None, now: float | None = None) -> str:
    """One run: its state, how far it is, how long it will take, what it said last, and every time it was taken up.

    Args:
        last: the last logged line, for speed and the time left.
        now: Unix seconds; the present by default.
    """
    now = time.time() if now is None else now
    of = f" of {status.total_steps:,}" if status.total_steps else ""
    facts = [f"step {status.step:,}{of}" if status.step else ""]
    if last is not None and status.going:
        facts += [
            f"{number(float(last['tokens_per_second']))} tokens/s" if last.get("tokens_per_second") else "",
            f"about {duration(float(last['eta_seconds']))} left" if last.get("eta_seconds") else "",
            f"peak memory {float(last['memory_mb']):,.0f} MB" if last.get("memory_mb") else "",
        ]
    facts.append(f"last sign of life {duration(max(0.0, now - status.updated))} ago" if status.going else "")
    share = min(1.0, status.step / status.total_steps) if status.total_steps else 0.0
    if status.state == "failed":
        said = show.error_line(status.message)
    else:
        said = f'<p class="dl-quiet dl-small">{html.escape(status.message)}</p>' if status.message else ""
    return (
        f'<div role="status"><p class="dt-head"><b>{html.escape(name)}</b> {state_chip(status.state)} '
        f"<span>{html.escape(' · '.join(each for each in facts if each))}</span></p>"
        f'<div class="dt-bar"><i style="width:{share:.1%}"></i></div>{said}{_sittings(status)}</div>'
    )


def state_chip(state: str) -> str:
    return f'<span class="dl-chip" data-tone="{STATE_TONES.get(state, "plain")}" data-job="{state}">{state}</span>'


def _sittings(status: JobStatus) -> str:
    """Every time that a run was taken up, where it was more than once."""
    if len(status.sittings) < 2:
        return ""

    def told(place: int) -> str:
        each = status.sittings[place]
        begun = time.strftime("%H:%M:%S", time.localtime(each.started))
        how = f"went on from step {each.from_step:,}" if each.from_step else "began"
        last = place == len(status.sittings) - 1
        end = each.end or ("going" if last and status.going else "killed")
        return f"<li>{begun} {how}, {html.escape(end)}</li>"

    listed = "".join(told(place) for place in range(len(status.sittings)))
    return f'<ol class="dt-sittings" aria-label="Times it was taken up">{listed}</ol>'


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


# -- what the model wrote ----------------------------------------------------------------------------------------------


def exchange(prompt: Sequence[Mapping[str, str]], replies: Mapping[str, str], broken: Iterable[str] = ()) -> str:
    """One prompt and what several models answered, side by side: name → reply, as people read it.

    Args:
        prompt: messages with role and content.
        broken: names of those whose reply does not hold to the notation; it is shown as it came.
    """
    spoken = "".join(_bubble(each["role"], each["content"]) for each in prompt if each["role"] != "system")
    unread = set(broken)
    sides = [
        show.panel(
            name,
            '<p class="dl-small"><span class="dl-chip" data-tone="bad">broken notation</span></p>'
            if name in unread
            else "",
            show.rich_text(text) if text.strip() else '<p class="dl-quiet">(nothing)</p>',
        )
        for name, text in replies.items()
    ]
    return f'<div class="dl-chat">{spoken}</div>{show.beside(*sides)}'


def sample(prompt: Sequence[Mapping[str, str]], replies: Sequence[Mapping[str, Any]]) -> str:
    """One line of `samples.jsonl`: a prompt as the model saw it, and its replies with what each earned.

    Args:
        replies: each with text, notation, n_tokens, and where they were judged kind and reward (None where the
            judgement failed).
    """
    judged = any(each.get("reward") is not None for each in replies)

    def one(reply: Mapping[str, Any]) -> str:
        kind, earned = reply.get("kind") or "", reply.get("reward")
        tone = "bad" if kind == "broken" else "known" if kind == "building" else "plain"
        facts = [
            f'<span class="dl-chip" data-tone="{tone}">{html.escape(kind)}</span>' if kind else "",
            f"{reply['n_tokens']:,} tokens" if "n_tokens" in reply else "",
            f"reward <b>{show.signed(earned)}</b>" if earned is not None else "unscored" if judged else "",
        ]
        notation = reply.get("notation")
        as_written = f'<pre class="dl-code">{html.escape(notation)}</pre>' if notation else ""
        text = f'<div class="dt-reply">{show.rich_text(reply["text"])}</div>'
        return f'<section class="dl-panel">{text}{as_written}<p class="dl-small">{" ".join(facts)}</p></section>'

    spoken = "".join(_bubble(each["role"], each["content"]) for each in prompt if each["role"] != "system")
    return f'<div class="dl-chat">{spoken}</div><div class="dt-replies">{"".join(map(one, replies))}</div>'


def _bubble(role: str, text: str) -> str:
    return f'<div class="dl-msg" data-role="{html.escape(role)}">{show.rich_text(text)}</div>'


def replies(written: Mapping[str, Candidate]) -> str:
    """Judged replies beside each other as people read them: name → candidate, its reward and parts below it."""

    def one(name: str, candidate: Candidate) -> str:
        earned = candidate.reward
        bill = html.escape(f"unscored: {candidate.error}")
        if earned:
            parts = f"R_d {show.signed(earned.discovered)}, R_e {show.signed(earned.penalty)}"
            bill = f"{parts}: <b>{show.signed(earned.total)}</b>"
        notation = candidate.reply.notation
        as_written = f'<pre class="dl-code">{html.escape(notation)}</pre>' if notation else ""
        kind = candidate.evaluation.kind.replace("_", " ") if candidate.evaluation else "unscored"
        return show.panel(
            name,
            f'<div class="dt-reply">{show.rich_text(candidate.reply.text)}</div>{as_written}'
            f'<p class="dl-small"><span class="dl-chip">{kind}</span> {candidate.reply.n_tokens:,} tokens · {bill}</p>',
        )

    return f'<div class="dt-replies">{"".join(one(name, candidate) for name, candidate in written.items())}</div>'


# -- a group -----------------------------------------------------------------------------------------------------------


def group_arithmetic(group: Group, labels: Sequence[str]) -> str:
    """Rewards to advantages as a table that adds up, and a bar for each."""
    most = max((abs(each) for each in group.advantages if each is not None), default=0.0) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th><td class="dl-num">{_signed(reward)}</td>'
        f'<td class="dl-num">{_difference(group, reward)}</td><td class="dl-num"><b>{_signed(advantage)}</b></td>'
        f"<td>{_balance(advantage, most)}</td></tr>"
        for label, reward, advantage in zip(labels, group.rewards, group.advantages, strict=True)
    )
    divisor = "÷ (s + 0.0001)" if group.scaled else "as it is"
    head = ("Reply", "reward r", "r − mean", f"advantage: {divisor}", "made likelier (right) or less likely (left)")
    columns = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in head)
    spread = "" if group.std is None else f", standard deviation s = {group.std:.4f} (over n − 1)"
    caption = f"Mean = {group.mean:.4f}{spread}" if group.mean is not None else "No reply was scored"
    return (
        f'<div class="dl-scroll"><table class="dt-group"><caption>{caption}</caption><thead><tr>{columns}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _signed(value: float | None) -> str:
    return "unscored" if value is None else show.signed(value)


def _difference(group: Group, reward: float | None) -> str:
    return "" if reward is None or group.mean is None else show.signed(reward - group.mean)


def _balance(advantage: float | None, most: float) -> str:
    """A bar from the middle, to the right for what is made likelier."""
    if advantage is None:
        return ""
    width, side = abs(advantage) / most * 50, "more" if advantage >= 0 else "less"
    edge = "left:50%" if advantage >= 0 else f"left:{50 - width:.1f}%"
    return (
        f'<div class="dt-balance" aria-hidden="true"><i data-side="{side}" style="{edge};width:{width:.1f}%"></i></div>'
    )


def token_changes(tokens: Sequence[str], before: Sequence[float], after: Sequence[float], most: float) -> str:
    """A reply token by token: how much likelier the step made each, as a bar above or below a line.

    Args:
        before, after: log-probabilities (nats).
        most: the change that fills a bar.
    """
    cells = []
    for token, one, other in zip(tokens, before, after, strict=True):
        change = other - one
        height, side = min(1.0, abs(change) / most) * 50 if most else 0.0, "more" if change >= 0 else "less"
        edge = "bottom:50%" if change >= 0 else "top:50%"
        told = f"{token}: {math.exp(one):.4f} → {math.exp(other):.4f}"
        cells.append(
            f'<span class="dt-token" title="{html.escape(told)}"><span class="dt-rise" aria-hidden="true">'
            f'<i data-side="{side}" style="{edge};height:{height:.1f}%"></i></span>{html.escape(token)}'
            f"<small>{show.signed(round(change, 3))}</small></span>"
        )
    return f'<div class="dt-tokens">{"".join(cells)}</div>'


def lesson(group: Group) -> str:
    """What a group teaches, in words."""
    if not group.signal:
        text = (
            "All scored rewards are equal, so every advantage is 0 and this group teaches nothing: the replies were "
            "paid for and leave no trace. Another draw, a higher temperature or a larger group may bring a difference."
        )
    else:
        scored = [advantage for advantage in group.advantages if advantage is not None]
        better = sum(advantage > 0 for advantage in scored)
        how = (
            "Divided by their spread, a group whose rewards hardly differ pushes as hard as one in which they differ a "
            "lot."
            if group.scaled
            else "Not divided, a group pushes harder the more its rewards differ."
        )
        text = f"{better} of {len(scored)} replies are better than the group's mean and are made likelier. {how}"
    return f'<p class="dl-quiet">{html.escape(text)}</p>'
