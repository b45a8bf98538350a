"""A link is a situation: a session as the part of an address after `#`, from which the same session is played again.

    domain=svg_drawing&artifact=goldfish-sticker&seed=4&assistant=adaptive&rules=paper&at=0.4&line=adaptive*4&line=0.2:ask*2

`line` names who replied, branch by branch: `0.2:` is the branch and turn that it left, `ask*2` two replies of *ask*,
`ask!` one that was taken from all that were compared, `you` a typed one, whose text is the next `reply`. `at` is the
branch and turn looked at. The miniature does the same again from a seed, so this is the whole conversation; where it
would not be (a language model took part, a tree that only this machine has), no link is made and the reason is given.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from discover_lib.core.conversation import Turn
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import NAMED_RULES
from workbench import simulator_page
from workbench.session import Branch, Session
from workbench.sources import SessionError, Settings, assistant_names

MOST_LINES, MOST_STEPS = 40, 200  # of a link that is opened: nobody's browser is kept busy for long
_LINE = re.compile(r"(?:(?P<branch>\d+)\.(?P<turn>\d+):)?(?P<steps>[\w!*,-]*)", re.ASCII)
_STEP = re.compile(r"(?P<name>[a-z_]+)(?P<compared>!?)(?:\*(?P<times>\d{1,3}))?", re.ASCII)
SAVE_INSTEAD = "save the session to a file instead"


def link_of(session: Session) -> str:
    """The situation as text for an address.

    Raises:
        SessionError: the session cannot be played again from a link; the line says why.
    """
    used = session.settings
    if used.source == "trees":
        raise SessionError(f"this user's tree is on this machine alone: {SAVE_INSTEAD}")
    played = {turn.reply.assistant for branch in session.branches for turn in branch.conversation.turns}
    if used.models or (used.source == "miniature" and not played <= {*assistant_names(), "you"}):
        raise SessionError(f"a language model took part, and a link cannot make it say the same again: {SAVE_INSTEAD}")
    for made_under in dict.fromkeys((used.rules, *NAMED_RULES)):
        link = _written(session, made_under)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                again = opened_link(link, Path(scratch))
            except SessionError:
                continue
        if _lines(again) == _lines(session):
            return link
    raise SessionError(f"this session was not played in one go, by today's rules and words: {SAVE_INSTEAD}")


def opened_link(link: str, folder: Path | None = None) -> Session:
    """A new session, played as a link says.

    Raises:
        SessionError: it is not such a link, or what it names is not here.
    """
    try:
        parts = parse_qs(link.lstrip("#?"), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise SessionError("this link is not whole: it has more than 1,000 parts") from None
    one = {name: values[-1] for name, values in parts.items()}
    try:
        numbers = {name: int(one.get(name, default)) for name, default in (("seed", 0), ("turns", MAX_TURNS))}
        at_branch, at_turn = (int(number) for number in one.get("at", "0.0").split("."))
    except ValueError:
        raise SessionError("this link is not whole: a number in it cannot be read") from None
    names = {name: one[name] for name in ("source", "domain", "artifact", "assistant") if name in one}
    rules = one.get("rules", "paper")
    wanted = Settings(**names, rules=one.get("made", rules), **numbers)  # type: ignore[arg-type]
    if wanted.models:
        raise SessionError(f"unknown assistant {wanted.assistant!r} in this link")
    written = parts.get("line", [])
    if len(written) > MOST_LINES:
        raise SessionError(f"this link has more than {MOST_LINES} lines")
    lines = [_read_line(number, line) for number, line in enumerate(written)]
    if sum(len(steps) for _, steps in lines) > MOST_STEPS:
        raise SessionError(f"this link has more than {MOST_STEPS} replies")
    session, replies = Session(wanted, folder=folder), iter(parts.get("reply", []))
    for origin, steps in lines:
        if origin:
            branch, turn = origin
            session.switch(branch)
            session.jump(turn)
            session.fork()
        for name, compared in steps:
            _step(session, name, compared, replies)
    if session.settings != wanted:
        session.let_play(wanted)
    if rules != wanted.rules:
        session.rescore(rules)
    session.switch(at_branch)
    session.jump(at_turn)
    return session


def _step(session: Session, name: str, compared: bool, replies: Iterator[str]) -> None:
    if name == "you":
        session.reply(next(replies, ""))
        return
    if session.settings.source == "recorded":
        session.next()
        return
    session.let_play(dataclasses.replace(session.settings, assistant=name))
    if not compared:
        session.next()
        return
    candidates = session.candidates(simulator_page.compared(session))
    session.take(next(each for each in candidates if each.reply.assistant == name))


def _read_line(number: int, line: str) -> tuple[tuple[int, int] | None, list[tuple[str, bool]]]:
    """The branch and turn that a line left (None: the first); turn by turn who replies, and whether one of several."""
    read = _LINE.fullmatch(line)
    if read is None or (read["branch"] is None) != (number == 0):
        raise SessionError(f"this link is not whole: {line[:60]!r} cannot be read")
    steps: list[tuple[str, bool]] = []
    for step in filter(None, read["steps"].split(",")):
        said = _STEP.fullmatch(step)
        if said is None or said["name"] not in (*assistant_names(), "you"):
            raise SessionError(f"this link is not whole: {step[:60]!r} is nobody who replies")
        steps += [(said["name"], bool(said["compared"]))] * int(said["times"] or 1)
    return (int(read["branch"]), int(read["turn"])) if number else None, steps


def _written(session: Session, made_under: str) -> str:
    used = session.settings
    parts: list[tuple[str, str | int]] = []
    if used.source != "miniature":
        parts.append(("source", used.source))
    parts += [("domain", used.domain), ("artifact", used.artifact), ("seed", used.seed)]
    parts += [("assistant", used.assistant), ("rules", used.rules)]
    if made_under != used.rules:
        parts.append(("made", made_under))
    if used.turns != MAX_TURNS:
        parts.append(("turns", used.turns))
    parts.append(("at", f"{session.current}.{session.cursor}"))
    parts += [("line", _line(session, branch)) for branch in session.branches]
    own = (turn for branch in session.branches for turn in _own_turns(branch) if turn.reply.assistant == "you")
    parts += [("reply", turn.reply.notation or turn.reply.text) for turn in own]
    return urlencode(parts, safe=":*,!.")


def _own_turns(branch: Branch) -> tuple[Turn, ...]:
    """The turns of a branch after the one that it left from."""
    return branch.conversation.turns[branch.origin[1] if branch.origin else 0 :]


def _line(session: Session, branch: Branch) -> str:
    recorded = session.settings.source == "recorded"
    names = (
        []
        if recorded
        else [turn.reply.assistant + ("!" if len(turn.candidates) > 1 else "") for turn in _own_turns(branch)]
    )
    steps = [(name, len(list(same))) for name, same in groupby(names)]
    left = f"{branch.origin[0]}.{branch.origin[1]}:" if branch.origin else ""
    return left + ",".join(name if times == 1 else f"{name}*{times}" for name, times in steps)


def _lines(session: Session) -> list[object]:
    place: list[object] = [session.current, session.cursor, session.settings.rules]
    return place + [(branch.origin, branch.conversation.to_dict()) for branch in session.branches]
