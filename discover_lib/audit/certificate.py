"""The panel certificate: does this simulated user tell good assistants from bad ones?

Scripted assistants whose order can be argued for beforehand are run with the simulator in question, all from the same
states.  For each relation of the order a paired difference over artifacts says whether it is held, violated or not
distinguishable.  Only a simulator that holds the required relations can say anything about assistants whose order is
not known.  Two more relations are reported, whatever comes out: whether adaptive finds more than draft, which is the
paper's own thesis and no condition of a sound user, and whether it finds more than a list that ignores the user.

A certificate belongs to the simulated user (judge, voice, prompts, rules and the domain they know), so
every run of the same user inherits it: the miniature's come with the library, one made for a run lies in its folder.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, outputs_folder, read_json, write_json
from discover_lib.base.json_text import to_json
from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery
from discover_lib.engines.manner import Manner
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.engines.options import ROLES, RoleOptions
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean
from discover_lib.runs.options import LaidOut, RunOptions, execute, lay_out, manner_in
from discover_lib.runs.runner import Progress
from discover_lib.runs.store import FILE as STORE
from discover_lib.runs.store import RunStore, StoreError

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

FORMAT = "discover-certificate/1"
FILE = "certificate.json"
SHIPPED = Path("audit") / "certificates.json"  # below the data folder: the miniature's, one a domain and rules
PANEL_FOLDER = "panel"  # below the run's
PANEL = ("silent", "random", "ask", "options", "draft", "adaptive", "mixed", "oracle", USER_BLIND)
ARTIFACTS = 40  # fewer often leave adaptive and draft, the closest of the panel, not distinguishable
TOLERANCE = 0.02  # of the hidden intents: two shares that differ by less count as the same
ENOUGH = 5  # artifacts below which nothing is certified

Kind = Literal["above", "not below", "nothing"]
Holds = Literal["held", "violated", "not distinguishable"]
Result = Literal["passed", "failed", "undecided"]


class CertificateError(DiscoverError):
    """A simulator that cannot be certified as asked; the message is one line that says what to do."""


@dataclass(frozen=True)
class Relation(Record, omit=("reported",)):
    """One relation that a sound simulator shows, or one that is only looked at.

    Attributes:
        kind: `better` finds more than `worse` ("above"), at most `TOLERANCE` less ("not below"), or, with no `worse`,
            at most `TOLERANCE` at all ("nothing").
        why: the argument for it, without having seen a number.
        reported: told with the others, and no part of the result.
    """

    better: str
    kind: Kind
    worse: str
    why: str
    reported: bool = False

    @property
    def text(self) -> str:
        return {
            "above": f"{self.better} above {self.worse}",
            "not below": f"{self.better} not below {self.worse}",
            "nothing": f"{self.better} finds nothing",
        }[self.kind]


_KNOWS = "the oracle is shown the intents and builds them; a judge that does not see this cannot see discovery at all"
RELATIONS = (
    Relation("silent", "nothing", "", "a reply that shows and asks nothing cannot help anybody discover anything"),
    *(Relation("oracle", "above", other, _KNOWS) for other in PANEL if other not in ("oracle", USER_BLIND)),
    Relation("draft", "above", "silent", "a whole draft shows a value of every aspect; some of them must hit"),
    Relation("options", "above", "silent", "alternatives named aloud are concrete, so some of them must hit"),
    Relation("draft", "above", "ask", "a bare question names no value, and a user cannot answer what they do not know"),
    Relation("adaptive", "above", "random", "it hears what the user says; the random one does the same things, deaf"),
    Relation("adaptive", "above", "ask", "it shows values where the other only asks for them"),
    Relation("mixed", "not below", "draft", "it shows the same draft and samples beside it; length costs nothing here"),
    Relation(
        "adaptive",
        "above",
        "draft",
        "the paper's thesis: it builds what is clear as draft does, and shows samples where it is not",
        reported=True,
    ),
    Relation(
        "adaptive",
        "above",
        USER_BLIND,
        "it listens; the other names every value and hears nothing: where that finds as much, "
        "listening is not what pays",
        reported=True,
    ),
)


@dataclass(frozen=True)
class Tested(Record):
    """One relation, tested: `difference` is the paired one over artifacts, or the share found itself ("nothing")."""

    relation: Relation
    difference: Estimate
    holds: Holds


@dataclass(frozen=True)
class Certificate(Record, derived=("result", "line", "reported_line")):
    """What the panel said about a simulator.

    Attributes:
        subject: what was certified: engine, rules, prompts, code version (plain values), as a run records them.
        found: assistant → share of the hidden intents that it helped to discover.
        domains: what the certified user wants pieces of; () in a certificate of before this was noted.
    """

    subject: Mapping[str, Any]
    found: Mapping[str, Estimate]
    tested: tuple[Tested, ...]
    artifacts: int
    trials: int
    turns: int
    seed: int
    domains: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[Tested, ...]:
        """What the result rests on."""
        return tuple(each for each in self.tested if not each.relation.reported)

    @property
    def reported(self) -> tuple[Tested, ...]:
        return tuple(each for each in self.tested if each.relation.reported)

    @property
    def result(self) -> Result:
        """Failed if a required relation is violated, passed if all of them are held, else undecided."""
        if any(each.holds == "violated" for each in self.required):
            return "failed"
        enough = self.artifacts >= ENOUGH and all(each.holds == "held" for each in self.required)
        return "passed" if enough else "undecided"

    @property
    def line(self) -> str:
        """The result in one sentence."""
        size = f"{len(self.found)} scripted assistants, n = {self.artifacts} artifacts"
        if self.result == "passed":
            return f"all {len(self.required)} required relations hold ({size})"
        wanted = "violated" if self.result == "failed" else "not distinguishable"
        named = [each.relation.text for each in self.required if each.holds == wanted]
        if not named:
            return f"the panel is too small to certify anything: {size}, at least {ENOUGH} are needed"
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        more += "; more artifacts may decide it" if self.result == "undecided" else ""
        return f"{wanted}: {', '.join(named[:3])}{more} ({size})"

    @property
    def reported_line(self) -> str:
        """What was looked at beside, in one sentence; "" in a certificate of before."""
        told = ", ".join(f"{each.relation.text}: {each.holds}" for each in self.reported)
        return f"reported, not required: {told}" if told else ""

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT} | super().to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        if data.get("format") != FORMAT:
            raise CertificateError(
                f"not a certificate of this version: format is {data.get('format')!r}, not {FORMAT!r}"
            )
        return super().from_dict({name: value for name, value in data.items() if name != "format"})


def certify(
    conversations: Iterable[Conversation],
    subject: Mapping[str, Any],
    *,
    relations: Sequence[Relation] = RELATIONS,
    seed: int = 0,
    domains: Iterable[str] = (),
) -> Certificate:
    """Test the relations on conversations of the panel, run from identical states.

    Raises:
        CertificateError: an assistant of a relation is missing, or did not meet the same artifacts as the others.
    """
    shares: dict[str, dict[str, list[float]]] = {}
    turns = trials = 0
    for each in conversations:
        [name] = dict.fromkeys(each.setting["assistants"])
        shares.setdefault(name, {}).setdefault(each.setting["artifact"], []).append(share_found(each))
        turns, trials = max(turns, len(each.turns)), max(trials, each.setting["trial"] + 1)
    wanted = dict.fromkeys(name for each in relations for name in (each.better, each.worse) if name)
    if missing := [name for name in wanted if name not in shares]:
        raise CertificateError(f"no conversations of {', '.join(missing)}; a certificate needs the whole panel")
    estimates = {name: bootstrap_mean(shares[name], seed) for name in sorted(shares, key=_panel_place)}
    try:
        tested = tuple(_test(each, shares, seed) for each in relations)
    except ValueError as error:
        raise CertificateError(f"the panel was not run on the same artifacts: {error}") from None
    artifacts = len(next(iter(shares.values())))
    return Certificate(dict(subject), estimates, tested, artifacts, trials, turns, seed, tuple(sorted(domains)))


def share_found(conversation: Conversation) -> float:
    """Share of the intents hidden at the start that are discovered at the end; 0 where there was nothing hidden."""
    start = conversation.start
    hidden = [key for key in conversation.tree.intents if start[key] is not Discovery.DISCOVERED]
    n_discovered = sum(conversation.state[key] is Discovery.DISCOVERED for key in hidden)
    return n_discovered / len(hidden) if hidden else 0.0


def _panel_place(name: str) -> tuple[int, str]:
    return (PANEL.index(name) if name in PANEL else len(PANEL), name)


def _test(relation: Relation, shares: Mapping[str, Mapping[str, Sequence[float]]], seed: int) -> Tested:
    if relation.kind == "nothing":
        estimate = bootstrap_mean(shares[relation.better], seed)
        return Tested(relation, estimate, _verdict(estimate, "nothing"))
    difference = bootstrap_difference(shares[relation.better], shares[relation.worse], seed)
    return Tested(relation, difference, _verdict(difference, relation.kind))


def _verdict(estimate: Estimate, kind: Kind) -> Holds:
    """Where the interval lies: on the right side of the bound, on the wrong side, or across it."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:  # one artifact
        return "not distinguishable"
    if kind == "nothing":
        return "held" if high <= TOLERANCE else "violated" if low > TOLERANCE else "not distinguishable"
    bound = 0.0 if kind == "above" else -TOLERANCE
    return "held" if low > bound else "violated" if high < bound else "not distinguishable"


# -- running the panel ------------------------------------------------------------------------------------------------


def lay_out_panel(folder: Path, *, artifacts: int = ARTIFACTS, seed: int = 0, prompts: Path | None = None) -> LaidOut:
    """The panel's run under the engine, rules and number of turns of the run in `folder`; to be planned, then executed.

    Its artifacts are the run's own; where these are too few, more of the miniature's are generated in their domains.

    Args:
        prompts: the folder of prompts that the run was made with, if they were not ours.

    Raises:
        CertificateError: the run cannot be certified; the message says why.
        StoreError: there is no run.
    """
    with RunStore.read(folder) as store:
        configuration = store.configuration
        trees = _trees_of(store, artifacts)
    engine = configuration.get("engine") or {}
    if not engine.get("judge") or not engine.get("voice"):
        raise CertificateError(f"{folder} does not say who judged and spoke in it, so there is no simulator to certify")
    for domain in sorted({domain for domain, _ in trees.values()}):
        if len(trees) < artifacts:
            more = lay_out(RunOptions(("silent",), domain=domain, artifacts=artifacts)).trees
            new = [(artifact, tree) for artifact, tree in more.items() if artifact not in trees]
            trees |= dict(new[: artifacts - len(trees)])
    if strange := [artifact for artifact in trees if not _names_a_file(artifact)]:
        raise CertificateError(f"{folder}: the artifact {strange[0]!r:.80} cannot be the name of a file")
    kept = folder / PANEL_FOLDER / "trees"
    for old in kept.glob("*.json"):  # of a larger panel
        old.unlink()
    for artifact, (_, tree) in trees.items():
        write_json(kept / f"{artifact}.json", tree.to_dict())
    asked = {role: own for role, own in configuration.get("options", {}).items() if role in ROLES}
    options = RunOptions(
        PANEL,
        trees=kept,
        judge=engine["judge"],
        voice=engine["voice"],
        artifacts=artifacts,
        turns=configuration.get("turns") or MAX_TURNS,
        rules=Rules.from_dict(configuration["rules"]),
        seed=seed,
        prompts=prompts,
        role_options=RoleOptions.from_dict(asked),
        manner=manner_in(configuration),
    )
    return lay_out(options)


def certify_run(
    folder: Path,
    panel: LaidOut,
    *,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Certificate:
    """Execute a laid-out panel below a run's folder, test it and write the certificate; cut off, it goes on.

    Raises:
        CertificateError: conversations are missing: the budget was spent, or some failed.
        StoreError, RunError: as `discover_lib.runs.options.execute`.
    """
    where = folder / PANEL_FOLDER / _panel_name(panel)
    where.mkdir(parents=True, exist_ok=True)
    limits: dict[str, Any] = {"settings": settings, "budget_dollars": budget_dollars, "stop": stop}
    report = execute(panel, where, concurrency=concurrency, on_progress=on_progress, **limits)
    with RunStore.read(where) as store:
        counts = store.counts()
        if counts.finished < counts.units:
            why = f" ({' '.join(report.message.split())})" if report.message else ""
            raise CertificateError(
                f"{counts.units - counts.finished} of {counts.units} conversations of the panel are missing{why}; "
                "the same command goes on with them"
            )
        subject, domains = subject_of(panel.configuration), {domain for domain, _ in panel.trees.values()}
        certificate = certify(store.conversations(), subject, seed=panel.options.seed, domains=domains)
    write_certificate(folder, certificate)
    return certificate


def panel_folder(folder: Path) -> Path | None:
    """Where the panel's conversations lie that a run was last certified with; None where it was not."""
    stores = sorted((folder / PANEL_FOLDER).glob(f"run-*/{STORE}"), key=lambda path: path.stat().st_mtime)
    return stores[-1].parent if stores else None


def _panel_name(panel: LaidOut) -> str:
    """Another panel is another run, in a folder of its own."""
    return "run-" + hashlib.blake2b(to_json(panel.configuration).encode(), digest_size=4).hexdigest()


def _names_a_file(artifact: str) -> bool:
    """Whether an artifact's id, which in a run of somebody else may be anything, is a name and no way to a place."""
    return Path(f"{artifact}.json").name == f"{artifact}.json" and "\0" not in artifact and "\\" not in artifact


def _trees_of(store: RunStore, limit: int) -> dict[str, tuple[str, IntentTree]]:
    """The first trees of a run that the scripted panel can be run on."""
    trees: dict[str, tuple[str, IntentTree]] = {}
    for row in store.listing():
        if row.domain and row.artifact not in trees and len(trees) < limit:
            trees[row.artifact] = row.domain, store.conversation(row.place).tree
    if not trees:
        raise CertificateError(OUTSIDE)
    return trees


OUTSIDE = "the scripted panel knows the miniature's domains only, and this run has no artifact of one"
_PROMPTS = {"judge": "response_evaluation", "voice": "user_reply"}


def subject_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's configuration makes its simulated user: who judges and speaks, by which prompts and rules.

    A manner of typing does where a language model speaks.  Of the miniature's user assistants hear the same in every
    manner, so the panel says the same.
    """
    engine, hashes = configuration.get("engine") or {}, configuration.get("prompts") or {}
    asked = {prompt: hashes.get(prompt) for role, prompt in _PROMPTS.items() if engine.get(role) != MINIATURE}
    subject = {
        "engine": {role: engine.get(role) for role in _PROMPTS},
        "rules": configuration.get("rules"),
        "prompts": asked,
        "code_version": configuration.get("code_version"),
    }
    if "edition" in configuration:
        subject["edition"] = 2  # of the user's words, which the third left as they were
    if "manner" in configuration and engine.get("voice") != MINIATURE:
        subject["manner"] = configuration["manner"]
    return subject


# -- in a run's folder ------------------------------------------------------------------------------------------------


def write_certificate(folder: Path, certificate: Certificate) -> Path:
    """Write the certificate into a run's folder."""
    path = folder / FILE
    write_json(path, certificate.to_dict())
    return path


def read_certificate(folder: Path) -> Certificate | None:
    """The certificate in a run's folder, or None.

    Raises:
        CertificateError: an invalid file.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return Certificate.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise CertificateError(
            f"{path}: not a certificate ({error}); make it anew with 'discover audit --certify'"
        ) from None


# -- of a user, wherever it was made ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trust:
    """What vouches for the simulated user of a run.

    Attributes:
        certificates: of this very user: one, or one for each domain of the run.
        missing: why there is none, in one sentence, or "".
    """

    certificates: tuple[Certificate, ...] = ()
    missing: str = ""

    @property
    def result(self) -> Result:
        results = {each.result for each in self.certificates}
        if "failed" in results:
            return "failed"
        return "passed" if results == {"passed"} else "undecided"

    @property
    def line(self) -> str:
        """What the certificates say, in one line; several each with their domain."""
        if len(self.certificates) == 1:
            return self.certificates[0].line
        return "; ".join(f"{', '.join(each.domains)}: {each.line}" for each in self.certificates)


def trust_in(folder: Path) -> Trust:
    """What vouches for the simulated user of the run in a folder: its own certificate, else those of the same user.

    The same user is the same judge, voice, prompts, rules and version of the code, in the same domain.
    """
    try:
        with RunStore.read(folder) as store:
            subject, domains = subject_of(store.configuration), _domains_of(store)
        own = read_certificate(folder)
    except (StoreError, CertificateError) as error:
        return Trust(missing=f"No certificate: {error}.")
    if own is not None and not (changed := _differing(own, subject)):
        return Trust((own,))
    known = list(_known_certificates())
    for groups in ((domains,), tuple((domain,) for domain in domains)):
        fitting = [_largest(known, subject, group) for group in groups]
        if domains and all(fitting):
            return Trust(tuple(each for each in fitting if each is not None))
    how = f"none can be made: {OUTSIDE}"
    if domains:
        how = "make one with 'discover audit RUN --certify' or on page 65"
    if own is not None:
        return Trust(missing=f"The certificate is of another simulator (its {', '.join(changed)} differ); {how}.")
    return Trust(
        missing=f"No certificate: nothing shows yet that this simulated user tells good assistants from bad "
        f"ones; {how}."
    )


def certificate_warning(folder: Path) -> str | None:
    """The line that every page with this run's numbers shows, or None if a certificate vouches for its simulator."""
    trust = trust_in(folder)
    if trust.missing:
        return trust.missing
    if trust.result == "passed":
        return None
    word = {"failed": "failed its certificate", "undecided": "is not certified"}[trust.result]
    return f"This simulated user {word}: {trust.line}. Do not rest a conclusion on these numbers."


def _differing(certificate: Certificate, subject: Mapping[str, Any]) -> list[str]:
    return [name for name, value in subject.items() if certificate.subject.get(name) != value]


def _largest(
    certificates: Iterable[Certificate], subject: Mapping[str, Any], domains: tuple[str, ...]
) -> Certificate | None:
    """Of the certificates of a user in these domains the one of most artifacts."""
    fitting = [each for each in certificates if each.domains == domains and not _differing(each, subject)]
    return max(fitting, key=lambda each: each.artifacts, default=None)


def _domains_of(store: RunStore) -> tuple[str, ...]:
    named = store.configuration.get("domain")
    return tuple(sorted(named.split(", ") if named else {row.domain for row in store.listing() if row.domain}))


def _known_certificates() -> Iterator[Certificate]:
    """Those that come with the library, then those of all runs; of before certificates knew their domains, none."""
    shipped = data_folder() / SHIPPED
    files = [shipped] if shipped.is_file() else []
    for file in [*files, *outputs_folder().glob(f"*/{FILE}"), *outputs_folder().glob(f"*/*/{FILE}")]:
        try:
            yield from _certificates_in(file, file.stat().st_mtime_ns)
        except (DiscoverError, KeyError, TypeError, ValueError, OSError):  # the page of its own run says so
            continue


@cache
def _certificates_in(file: Path, changed: int) -> tuple[Certificate, ...]:
    data = read_json(file, CertificateError)
    return tuple(Certificate.from_dict(each) for each in (data if isinstance(data, list) else [data]))


def certify_miniature(domain: str, rules: Rules, manner: Manner | None = None) -> Certificate:
    """The certificate of the miniature's user in one domain, made as `discover audit RUN --certify` makes it."""
    with TemporaryDirectory() as folder:
        run = Path(folder)
        execute(lay_out(RunOptions(("silent",), domain=domain, artifacts=1, rules=rules, manner=manner)), run)
        return certify_run(run, lay_out_panel(run))
