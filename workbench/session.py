"""A session at the simulator: a conversation stepped by hand, with branches, time travel and replies of one's own.

A `Session` is saved to one JSON file after every change and comes back from it as it was.  Nothing here knows how it
is shown.  What it starts from is the business of `workbench.sources`.
"""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base import EARLIER
from discover_lib.base.files import outputs_folder, whole_file
from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import RoleError, ask
from discover_lib.core.simulator import UserSimulator, as_reply
from discover_lib.core.state import IntentState
from discover_lib.engines.spec import EDITION, MINIATURE, RoleEngines
from workbench.live import Calls, open_roles
from workbench.sources import SessionError, Settings, assistant_names, check_players, engine_name, open_source

FORMAT = "discover-session/1"
MAX_REPLY = 200_000  # characters
_ID = re.compile(r"[a-z0-9]{6,32}")


@dataclass(frozen=True)
class Branch:
    """One line of the conversation; `origin` names the branch (by number) and turn that it left from."""

    conversation: Conversation
    origin: tuple[int, int] | None = None


class Session:
    """Branches of one conversation, and the place that is looked at.

    Args:
        settings: of a new session; `load` and `from_text` read those of a file.

    Raises:
        SessionError: an unknown artifact or assistant, or an artifact that no tree can be built from.

    Attributes:
        id: names the file, and the page's `?session=` parameter.
        settings: what is simulated.
        branches: the lines tried so far; the first is the trunk.
        current: number of the branch being looked at.
        cursor: the turn being looked at; 0 is the start.
        considered: replies judged at this very moment by `candidates`, not taken yet.
        calls: what language models were asked in this session.
    """

    settings: Settings
    branches: list[Branch]
    current: int
    cursor: int
    considered: tuple[Candidate, ...] = ()

    def __init__(self, settings: Settings | None = None, folder: Path | None = None, session_id: str = "") -> None:
        self.id = session_id or secrets.token_hex(6)
        self.folder = folder or outputs_folder() / "sessions"
        self.calls = Calls()
        self._lock = threading.Lock()  # a step in a thread either is taken before `cancel` returns, or never
        self._stop = threading.Event()  # of the step begun last; every step has its own
        self._here = threading.local()  # the step of this thread
        if settings is not None:
            self.settings, self.branches = settings, [Branch(open_source(settings))]
            self._look_at(0, 0)

    # -- where we are ----------------------------------------------------------------------------------------------

    @property
    def branch(self) -> Branch:
        return self.branches[self.current]

    @property
    def conversation(self) -> Conversation:
        """The whole line being looked at, turns after the cursor included."""
        return self.branch.conversation

    @property
    def tree(self) -> IntentTree:
        return self.conversation.tree

    @property
    def turn(self) -> Turn | None:
        """The turn at the cursor; None at the start."""
        return self.conversation.turns[self.cursor - 1] if self.cursor else None

    @property
    def state(self) -> IntentState:
        return self.conversation.state_after(self.cursor)

    @property
    def at_end(self) -> bool:
        """Whether no later turn of this line is known yet."""
        return self.cursor == len(self.conversation.turns)

    @property
    def why_no_next(self) -> str | None:
        """Why *next* can do nothing here, in one line; None if it can."""
        if not self.at_end:
            return None
        if self.settings.recorded:
            return (
                f"the recording ends after turn {self.cursor}; go back, or choose the miniature for a new conversation"
            )
        if self.conversation.stop not in (None, "max_turns"):
            return f"the conversation is over: {self.conversation.stop.replace('_', ' ')}; go back, or reset"
        return None

    @property
    def scored_turns(self) -> int:
        """How many turns count: a turn after the last scored one is played without effect on the score."""
        return len(self.branches[0].conversation.turns) if self.settings.recorded else self.settings.turns

    @property
    def why_no_reply(self) -> str | None:
        """Why a reply of one's own cannot be judged here, in one line; None if it can."""
        if self.settings.recorded:
            return "this conversation was recorded; choose the miniature as the source to type your own replies"
        return self.why_no_next

    def label(self, branch: int) -> str:
        """A branch in words: "main line", "branch 2, from turn 3"."""
        origin = self.branches[branch].origin
        if origin is None:
            return "main line"
        return f"branch {branch + 1}, from turn {origin[1]}" + (f" of {self.label(origin[0])}" if origin[0] else "")

    # -- going on --------------------------------------------------------------------------------------------------

    def next(self) -> Turn:
        """One turn on: the known one after the cursor, or a new one by the assistant.

        Raises:
            SessionError: nothing comes after this, a role failed, or it was cancelled; the session is unchanged.
        """
        if reason := self.why_no_next:
            raise SessionError(reason)
        if not self.at_end:
            self._look_at(self.current, self.cursor + 1)
        else:
            with self._roles() as roles:
                simulator = self._simulator(roles)
                self._continue(simulator, [self._consider(roles, simulator, self.settings.assistant)], 0)
        assert self.turn is not None
        return self.turn

    def reply(self, text: str) -> Turn:
        """Answer in the assistant's place, in plain words, SVG or notation; before the end of a line this branches.

        Raises:
            SessionError: nothing was typed, it cannot be judged, or it was cancelled; the session is unchanged.
        """
        if reason := self.why_no_reply:
            raise SessionError(reason)
        if not text.strip():
            raise SessionError("type a reply first")
        if len(text) > MAX_REPLY:
            raise SessionError(f"a reply of {len(text)} characters is too long; at most {MAX_REPLY}")
        with self._roles() as roles:
            simulator = self._simulator(roles)
            candidate = simulator.consider(self._typed(text))
            named = dataclasses.replace(candidate, reply=dataclasses.replace(candidate.reply, assistant="you"))
            return self._continue(simulator, [named], 0)

    def candidates(self, assistants: Sequence[str] = ()) -> tuple[Candidate, ...]:
        """What would each of these replies discover here?  All are judged against the same state; nothing changes.

        Raises:
            SessionError: it cannot be judged here, or an unknown assistant.
        """
        if reason := self.why_no_reply:
            raise SessionError(reason)
        with self._roles(tuple(assistants)) as roles:
            simulator = self._simulator(roles)
            with ThreadPoolExecutor() as threads:  # language models reply side by side
                considered = tuple(threads.map(lambda name: self._consider(roles, simulator, name), assistants))
            with self._unless_cancelled():
                self.considered = considered
        return self.considered

    def take(self, place: int) -> Turn:
        """Continue with one of the replies just considered; the others stay on record as not chosen.

        Args:
            place: of the reply in `considered`.

        Raises:
            SessionError: no such reply is considered at this moment.
        """
        if not 0 <= place < len(self.considered):
            raise SessionError("the conversation has moved on since this reply was judged; judge the replies again")
        with self._roles() as roles:
            return self._continue(self._simulator(roles), self.considered, place)

    def cancel(self) -> None:
        """End the step under way, if there is one, at once; nothing of it is kept."""
        with self._lock:
            self._stop.set()

    # -- time travel -----------------------------------------------------------------------------------------------

    def jump(self, turn: int, branch: int | None = None) -> None:
        """Look at another turn; 0 is the start.

        Args:
            branch: number of the branch; None stays on the present one.

        Raises:
            SessionError: no such branch or turn.
        """
        branch = self.current if branch is None else branch
        if not 0 <= branch < len(self.branches):
            raise SessionError(f"there is no branch {branch + 1}; there are {len(self.branches)}")
        turns = len(self.branches[branch].conversation.turns)
        if not 0 <= turn <= turns:
            raise SessionError(f"there is no turn {turn}; this line has {turns}")
        if (branch, turn) != (self.current, self.cursor):
            self._look_at(branch, turn)

    def fork(self) -> None:
        """Open a branch at the cursor and look at it; what it left stays as it is.

        Raises:
            SessionError: it is recorded, or the user could not answer the turn that the branch leaves from.
        """
        if self.settings.recorded:
            raise SessionError("a recording has no branches; choose the miniature as the source to open one")
        with self._roles() as roles:
            branched = self._simulator(roles).conversation
            with self._unless_cancelled():
                self.branches.append(Branch(branched, (self.current, self.cursor)))
                self._look_at(len(self.branches) - 1, self.cursor)

    def let_play(self, settings: Settings) -> None:
        """Have others play the roles from now on: assistant, judge, voice.

        Args:
            settings: the present ones with other players.

        Raises:
            SessionError: an unknown player, or an invalid address.
        """
        check_players(settings)
        self.settings = settings
        self._look_at(self.current, self.cursor)

    # -- on disk ---------------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        return self.folder / f"{self.id}.json"

    def save(self) -> None:
        """Write the file anew; a reader sees the old one or the new one, never a part.

        Raises:
            SessionError: it cannot be written; the session goes on, but a reload would not find this.
        """
        try:
            with whole_file(self.path) as file:
                file.write(self.text)
        except OSError as error:
            raise SessionError(f"not saved, a reload would lose this: {self.path} ({error})") from error

    @classmethod
    def load(cls, session_id: str, folder: Path | None = None) -> Session:
        """The session of that id as it was left.

        Raises:
            SessionError: no such session, or a file that is not one.
        """
        if not _ID.fullmatch(session_id):
            raise SessionError(f"invalid session id {session_id[:40]!r}; one has 6 to 32 small letters and digits")
        session = cls(None, folder, session_id)
        try:
            session._restore(session.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SessionError(f"there is no session {session_id!r} here; start a new one") from None
        except (OSError, UnicodeError) as error:
            raise SessionError(f"session {session_id!r} cannot be read ({error}); start a new one") from None
        return session

    @property
    def text(self) -> str:
        """The session as its file has it."""
        data = {
            "format": FORMAT,
            "id": self.id,
            "settings": dataclasses.asdict(self.settings),
            "edition": EDITION,
            "branches": [
                {"origin": branch.origin, "conversation": branch.conversation.to_dict()} for branch in self.branches
            ],
            "current": self.current,
            "cursor": self.cursor,
        }
        return json.dumps(data, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str, folder: Path | None = None) -> Session:
        """A session out of another's `text`, of this machine or not, under an id of its own.

        Who plays comes from here: a file names no server that would be asked with the reader's keys.

        Raises:
            SessionError: it is not a session's text.
        """
        session = cls(None, folder)
        session._restore(text)
        used = session.settings
        kept = {name: getattr(used, name) for name in ("source", "domain", "artifact", "rules", "seed", "turns")}
        if used.assistant in assistant_names():
            kept["assistant"] = used.assistant
        session.settings = Settings(**kept)
        session.save()
        return session

    def _restore(self, text: str) -> None:
        """Read a session's text; raises `SessionError` where it is none."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT or data.get("edition") != EDITION:
                raise ValueError(f"another format; {EARLIER}")
            self.settings = Settings(**data["settings"])
            lines = [(Conversation.from_dict(each["conversation"]), each["origin"]) for each in data["branches"]]
            self.branches = [Branch(line, (origin[0], origin[1]) if origin else None) for line, origin in lines]
            self.current, self.cursor = int(data["current"]), int(data["cursor"])
            self.considered = ()
            self.conversation.state_after(self.cursor)  # the place exists
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
            raise SessionError(f"this is not a saved session of this version ({error}); start a new one") from None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _look_at(self, branch: int, turn: int) -> None:
        self.current, self.cursor = branch, turn
        self.considered = ()
        self.save()

    @contextmanager
    def _roles(self, assistants: tuple[str, ...] = ()) -> Iterator[RoleEngines]:
        """Who plays in one step; what they cannot do becomes a `SessionError`."""
        from discover_lib.engines.llm.calls.exchange import LLMError
        from discover_lib.engines.miniature.lexicon import LexiconError

        settings, stop = self.settings, threading.Event()
        self._stop = self._here.stop = stop
        asked = (settings.assistant, *assistants)
        try:
            with open_roles(settings.spec, asked, settings.api_base, settings.key_variable, self.calls, stop) as roles:
                yield roles.for_conversation(self.conversation.setting, self.conversation.seed)
        except RoleError as error:
            message = " ".join(str(error).split())
            named = message.startswith(f"{error.role}: ")
            raise SessionError(message if named else f"{error.role}: {message}") from error
        except LLMError as error:
            if error.kind == "stopped":
                raise SessionError("stopped; nothing of the unfinished step was kept") from error
            raise SessionError(" ".join(str(error).split())) from error
        except LexiconError as error:
            raise SessionError(f"{error}; let language models judge and speak here") from error

    @contextmanager
    def _unless_cancelled(self) -> Iterator[None]:
        """Change the session, unless this step was cancelled meanwhile."""
        with self._lock:
            if self._here.stop.is_set():
                raise SessionError("stopped; nothing of the unfinished step was kept")
            yield

    @property
    def _domain(self) -> str:
        """The miniature's domain of the tree; "" if it belongs to none."""
        return str(self.conversation.setting.get("domain", self.settings.domain))

    def _simulator(self, roles: RoleEngines) -> UserSimulator:
        """A simulator at the cursor, which goes on after the last scored turn, too."""
        judge, voice = roles.judge(self._domain), roles.voice(self._domain)
        stop = None if self.conversation.stop == "max_turns" else self.conversation.stop
        return UserSimulator.resume(dataclasses.replace(self.conversation, stop=stop), judge, voice).branch(self.cursor)

    def _typed(self, text: str) -> Reply:
        """A reply as typed: for the miniature's judge in its own notation where it is that, else as it stands."""
        if self.settings.judge != MINIATURE:
            return as_reply(text)
        from discover_lib.engines.miniature.lexicon import load_lexicon
        from discover_lib.engines.miniature.rendering import typed_reply

        return as_reply(typed_reply(text, load_lexicon(self._domain), self.conversation.tree.initial_request))

    def _consider(self, roles: RoleEngines, simulator: UserSimulator, name: str) -> Candidate:
        try:
            assistant = roles.assistant(name, self._domain)
        except ValueError as error:
            raise SessionError(str(error)) from error
        seed = derive_seed(simulator.conversation.seed, "turn", len(simulator.conversation.turns) + 1, "candidate", 0)
        return simulator.consider(ask(assistant, simulator.tree, simulator.state, simulator.messages, seed))

    def _continue(self, simulator: UserSimulator, candidates: Sequence[Candidate], choose: int) -> Turn:
        """Take a turn; at the end of a line it grows, before the end a branch opens."""
        simulator.commit(candidates, choose=choose)
        conversation = answered(simulator)
        turn = conversation.turns[-1]
        if conversation.stop is None and turn.index >= self.settings.turns:
            conversation = dataclasses.replace(conversation, stop="max_turns")
        conversation = dataclasses.replace(conversation, setting=self._setting_now(conversation.setting, turn.index))
        with self._unless_cancelled():
            if self.at_end:
                self.branches[self.current] = dataclasses.replace(self.branch, conversation=conversation)
            else:
                self.branches.append(Branch(conversation, (self.current, self.cursor)))
                self.current = len(self.branches) - 1
            self._look_at(self.current, self.cursor + 1)
        return turn

    def _setting_now(self, setting: Mapping[str, Any], turn: int) -> dict[str, Any]:
        """A conversation's setting with who judged and spoke, and from which turn on, if that changed."""
        known, now = str(setting["engine"]), engine_name(self.settings)
        if known.rpartition(": ")[2] == now or known == now:
            return dict(setting)
        return {**setting, "engine": now if turn == 1 else f"{known}; from turn {turn}: {now}"}


def answered(simulator: UserSimulator) -> Conversation:
    """A simulator's conversation in which the user answers the last reply, too; that answer scores nothing."""
    conversation = simulator.conversation
    if not conversation.turns or conversation.turns[-1].user_message is not None:
        return conversation
    at_end = dataclasses.replace(conversation, stop="max_turns")
    spoken = UserSimulator.resume(at_end, simulator.judge, simulator.voice).branch(len(conversation.turns))
    return dataclasses.replace(spoken.conversation, stop=conversation.stop)
