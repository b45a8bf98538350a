"""The small pictures of the gallery, drawn from what the library computes.

    .venv/bin/python tools/thumbnails.py    # writes workbench/views/static/thumbnails.json

Every mark stands for a number: of a conversation of the miniature, of the training run in data/training, of a group of
rewards.  A test draws them anew and compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.metrics.intervals import bootstrap_mean
from discover_lib.metrics.summary import newly_discovered
from workbench.lessons import checks
from workbench.lessons import exercise as people
from workbench.panel import trained_earlier
from workbench.views.html import Markup, joined, tag

FILE = Path(__file__).resolve().parent.parent / "workbench" / "views" / "static" / "thumbnails.json"
PERSON = 17
NAMES = ("ask", "draft", "adaptive")
WIDTH, HEIGHT = 240, 132
LEVELS = {Discovery.UNDISCOVERED: "fog", Discovery.EMERGING: "hunch", Discovery.DISCOVERED: "known"}


def svg(*marks: Markup) -> str:
    return str(tag("svg", *marks, viewBox=f"0 0 {WIDTH} {HEIGHT}", aria_hidden="true", focusable="false"))


def rect(x: float, y: float, width: float, height: float, kind: str, rx: float = 3) -> Markup:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{max(width, 1):.1f}", "height": f"{height:.1f}"}
    return tag("rect", class_=kind, rx=rx, **place)


def dot(x: float, y: float, kind: str, r: float = 5) -> Markup:
    return tag("circle", class_=kind, cx=f"{x:.1f}", cy=f"{y:.1f}", r=r)


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "line") -> Markup:
    return tag("path", class_=kind, d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")


def word(x: float, y: float, text: str, kind: str = "word") -> Markup:
    return tag("text", text, class_=kind, x=f"{x:.1f}", y=f"{y:.1f}")


def bars(values: Sequence[tuple[str, float]], left: float = 62) -> Markup:
    """Named bars from a zero line."""
    low, high = min(0.0, *(value for _, value in values)), max(0.0, *(value for _, value in values))
    unit, step = (WIDTH - left - 14) / ((high - low) or 1), (HEIGHT - 16) / len(values)
    zero = left - low * unit
    marks = [line(zero, 6, zero, HEIGHT - 6)]
    for place, (name, value) in enumerate(values):
        y = 10 + place * step
        start = zero if value >= 0 else zero + value * unit
        kind = "known" if value >= 0 else "loss"
        marks += [word(8, y + step / 2, name), rect(start, y, abs(value) * unit, step - 8, kind)]
    return joined(marks)


# -- one conversation --------------------------------------------------------------------------------------------------


def dots(conversation: Conversation, y: float) -> Markup:
    """A row of all wishes as they are at the end."""
    known = conversation.state
    keys = list(conversation.tree.intents)
    step = (WIDTH - 78) / len(keys)
    return joined(dot(72 + step * place, y, LEVELS[known[key]], 3.6) for place, key in enumerate(keys))


def three_assistants() -> Markup:
    rows = [(24 + 42 * place, name, people.talk(PERSON, name)) for place, name in enumerate(NAMES)]
    return joined(word(8, y + 4, name) + dots(talk, y) for y, name, talk in rows)


def forest(turn: int) -> Markup:
    """The trees of a person, as they are known after some turns."""
    talk = people.talk(PERSON, "adaptive")
    tree, state = talk.tree, talk.state_after(turn)
    leaves, marks = 0, list[Markup]()
    places: dict[str, tuple[float, float]] = {}
    width = (WIDTH - 24) / len(tree.leaves())
    for key in reversed(list(tree.intents)):
        children = [child.id for child in tree[key].children]
        if children:
            x = sum(places[child][0] for child in children) / len(children)
        else:
            leaves += 1
            x = WIDTH - 12 - (leaves - 0.5) * width
        places[key] = (x, 22 + (tree.depth(key) - 1) * 42)
    for key, (x, y) in places.items():
        marks += [line(x, y, *places[child.id]) for child in tree[key].children]
    marks += [dot(x, y, LEVELS[state[key]]) for key, (x, y) in places.items()]
    return joined(marks)


def strip() -> Markup:
    """The rewards of a conversation's turns, up and down from zero, above the wishes."""
    talk = people.talk(PERSON, "adaptive")
    marks = [line(10, 74, WIDTH - 10, 74)]
    for place, turn in enumerate(talk.turns):
        assert turn.candidate.reward is not None
        total = turn.candidate.reward.total
        marks.append(
            rect(22 + 42 * place, 74 - max(total, 0) * 19, 28, abs(total) * 19, "known" if total > 0 else "loss")
        )
    return joined(marks) + word(10, 106, "discovered") + dots(talk, 102)


def sum_of_a_reply() -> Markup:
    reward = people.talk(PERSON, "adaptive").turns[2].candidate.reward
    assert reward is not None
    parts = [("discovered", reward.discovered), ("length", reward.penalty), ("reward", reward.total)]
    return bars(parts)


def pair(place: int) -> Markup:
    """The two replies of one turn: what each found, and its length."""
    marks = []
    rewards = zip(("A", "B"), checks.rewards_of(checks.PAIRS[place]), strict=True)
    for row, (name, reward) in enumerate(rewards):
        y = 16 + row * 58
        marks.append(word(8, y + 18, name, "head"))
        marks += [dot(38 + 16 * each, y + 4, "known") for each in range(int(reward.discovered))]
        marks.append(rect(32, y + 18, reward.n_tokens * 0.45, 14, "fog-box"))
        marks.append(word(32, y + 45, f"{reward.n_tokens:g} tokens"))
    return joined(marks)


# -- training and results ----------------------------------------------------------------------------------------------


def loss() -> Markup:
    lines = [json.loads(text) for text in (trained_earlier() / "sft" / "metrics.jsonl").read_text("utf-8").splitlines()]
    points = [(each["step"], each["loss"]) for each in lines if "loss" in each and "step" in each]
    return curve(points) + word(12, HEIGHT - 6, "loss, step by step")


def curve(points: Sequence[tuple[float, float]]) -> Markup:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    across, up = (WIDTH - 30) / (max(xs) - min(xs)), (HEIGHT - 40) / (max(ys) - min(ys))
    path = " ".join(f"{14 + (x - min(xs)) * across:.1f},{14 + (max(ys) - y) * up:.1f}" for x, y in points)
    return line(14, 10, 14, HEIGHT - 22) + tag("polyline", points=path, class_="curve")


def intervals() -> Markup:
    marks = [line(62, 8, 62, HEIGHT - 8)]
    for row, name in enumerate(("adaptive", "draft", "options", "ask")):
        found = {str(each): [float(newly_discovered(people.talk(each, name)))] for each in people.EVERYBODY}
        estimate, y = bootstrap_mean(found), 22 + row * 30
        unit = (WIDTH - 80) / 9
        if estimate.low is not None and estimate.high is not None:
            marks.append(line(62 + estimate.low * unit, y, 62 + estimate.high * unit, y, "whisker"))
        marks += [word(8, y + 4, name), dot(62 + estimate.mean * unit, y, "known")]
    return joined(marks)


def messages() -> Markup:
    """Messages of a user; those that give a wish away are marked."""
    right = next(each for each in ([2, 5],) if checks.find_the_leak(each).passed)
    marks, unit = [], (WIDTH - 24) / max(map(len, checks.MESSAGES))
    for place, message in enumerate(checks.MESSAGES, 1):
        y = 8 + (place - 1) * 20
        marks.append(rect(12, y, len(message) * unit, 13, "loss" if place in right else "fog-box"))
    return joined(marks)


def taus() -> Markup:
    points = {name: [(tau, checks.earned(name, tau)) for tau in range(0, 1401, 100)] for name in ("draft", "verbose")}
    ys = [y for each in points.values() for _, y in each]
    up = (HEIGHT - 30) / (max(ys) - min(ys))

    def path(name: str) -> str:
        return " ".join(f"{14 + tau * 0.15:.1f},{12 + (max(ys) - y) * up:.1f}" for tau, y in points[name])

    drawn = (
        tag("polyline", points=path(name), class_=kind) for name, kind in (("draft", "curve"), ("verbose", "other"))
    )
    return joined(drawn) + word(192, 70, "draft") + word(100, 106, "verbose")


PICTURES: dict[str, Callable[[], Markup]] = {  # word of the bar → picture
    "Start": three_assistants,
    "Intents": lambda: forest(0),
    "Conversation": strip,
    "Data": lambda: pair(2),
    "Train": loss,
    "Compare": intervals,
    "Trust": messages,
    "Class": taus,
    "Read the code": sum_of_a_reply,
}


def drawn(words: Iterable[str] = PICTURES) -> dict[str, str]:
    return {each: svg(PICTURES[each]()) for each in words}


def main() -> None:
    pictures: dict[str, Any] = drawn()
    FILE.write_text(json.dumps(pictures, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{len(pictures)} pictures, {FILE.stat().st_size:,} bytes → {FILE}")


if __name__ == "__main__":
    main()
