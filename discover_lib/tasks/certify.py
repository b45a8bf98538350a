"""Does this simulated user tell good assistants from bad ones?  The scripted panel, run with a run's own user.

A certificate belongs to the simulated user (judge, voice, prompts, rules and the domain they know), so every run of the
same user inherits it.  The miniature's come with the library; a certificate made for a run is in the run's folder.  The
relations are in `discover_lib.metrics.certificate`.  Raising means failed, returning finished; a stop raises `Stopped`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, outputs_folder, read_json, write_json
from discover_lib.base.json_text import to_json
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import Manner
from discover_lib.engines.role_options import ROLES, RoleOptions
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.certificate import PANEL, Certificate, Result, certified
from discover_lib.runs.options import LaidOut, RunOptions, execute, lay_out, manner_in
from discover_lib.runs.store import RunStore
from discover_lib.tasks.playing import Models, allowed, played
from discover_lib.tasks.waist import (
    Asked,
    Chart,
    Interval,
    Lines,
    Mark,
    Report,
    Run,
    RunFolder,
    Table,
    Tell,
    Tone,
    ask,
    task,
)

FILE = "certificate.json"
SHIPPED = Path("audit") / "certificates.json"  # below the data folder: the miniature's, one a domain and rules
ARTIFACTS = 40  # fewer often leave adaptive and draft, the closest of the panel, not distinguishable
TONES: dict[str, Tone] = {
    **{"held": "good", "violated": "bad", "not distinguishable": "open"},
    **{"passed": "good", "failed": "bad", "undecided": "open"},
}
LISTS = (
    "Validation does not check that listening pays: catalogue names every value and can "
    "discover as much as the oracle. The length penalty (at most 1) does not prevent this."
)


# -- the desk ---------------------------------------------------------------------------------------------------------


class Certify(Asked, frozen=True):
    run: RunFolder
    artifacts: Annotated[int, ask("Number of artifacts for the reference assistants.", least=1)] = ARTIFACTS
    seed: Annotated[int, ask("Random seed of the reference assistants.")] = 0
    prompts: Annotated[Path | None, ask("Prompt templates that the run was made with.")] = None


@task("certify", "Does this simulated user tell good assistants from bad ones?")
def certify(asked: Certify, how: Models, folder: Path, tell: Tell) -> Report:
    panel = panel_of(asked, folder / "trees")
    allowed(panel, how, "--artifacts for fewer conversations")
    digest = hashlib.blake2b(to_json(panel.configuration).encode(), digest_size=4).hexdigest()
    store_folder = folder / f"run-{digest}"  # another panel is another run, in a separate folder
    why = played(panel, store_folder, how, tell, "conversations of the panel")
    with RunStore.read(store_folder) as store:
        counts = store.counts()
        if missing := counts.units - counts.finished:
            raise DiscoverError(
                f"{missing} of {counts.units} conversations of the panel are missing{f' ({why})' if why else ''}; "
                "repeat the command to resume"
            )
        subject, domains = subject_of(panel.configuration), {domain for domain, _ in panel.trees.values()}
        certificate = certified(store.conversations(), subject, seed=asked.seed, domains=domains)
    write_json(asked.run / FILE, certificate.to_dict())
    return told(Trust((certificate,)))


def told(trust: Trust) -> Report:
    """The validation of a simulated user, from any source."""
    if trust.missing:
        return Report((Lines((trust.missing,), "open"),), exit_code=1)
    parts: list[Lines | Chart | Table] = [Lines((trust.verdict,), TONES[trust.result])]
    for each in trust.certificates:
        where = f" ({', '.join(each.domains).replace('_', ' ')})" if len(trust.certificates) > 1 else ""
        size = f"n = {each.artifacts} artifacts × {each.trials} trial{'s' * (each.trials != 1)}"
        best_first = dict(sorted(each.found.items(), key=lambda item: -item[1].mean))
        parts.append(
            Chart.dots(best_first, f"share of the hidden intents discovered{where}, {size}, 95% intervals", to_one=True)
        )
        for relations, caption in (
            (each.required, f"Required: paired differences of the share discovered over artifacts{where}, {size}"),
            (each.reported, f"Reported{where}, not required. {LISTS}"),
        ):
            rows = tuple(
                (
                    one.relation.text,
                    Mark(one.holds, TONES[one.holds]),
                    Interval.of(one.difference),
                    one.relation.why,
                )
                for one in relations
            )
            parts += [Table(("relation", "holds", "difference", "reason"), rows, caption)] if rows else []
    made = [each.to_dict() for each in trust.certificates]
    plain = made[0] if len(made) == 1 else {"certificates": made}
    return Report(tuple(parts), plain, exit_code=0 if trust.result == "passed" else 1)


# -- the panel --------------------------------------------------------------------------------------------------------


def panel_of(asked: Certify, kept: Path) -> LaidOut:
    """The panel's run under the engine, rules and number of turns of a run; to be planned, then executed.

    Its artifacts are the run's own; where these are too few, more of the miniature's are generated in their domains.

    Args:
        kept: the folder that its trees are written to.

    Raises:
        DiscoverError: the run cannot be certified; the message says why.
    """
    folder, artifacts = asked.run, asked.artifacts
    with RunStore.read(folder) as store:
        configuration = store.configuration
        trees = _trees_of(store, artifacts)
    engine = configuration.get("engine") or {}
    if not engine.get("judge") or not engine.get("voice"):
        raise DiscoverError(f"{folder} does not say who judged and spoke in it, so there is no simulator to certify")
    for domain in sorted({domain for domain, _ in trees.values()}):
        if len(trees) < artifacts:
            more = lay_out(RunOptions(("silent",), domain=domain, artifacts=artifacts)).trees
            new = [(artifact, tree) for artifact, tree in more.items() if artifact not in trees]
            trees |= dict(new[: artifacts - len(trees)])
    if strange := [artifact for artifact in trees if not _names_a_file(artifact)]:
        raise DiscoverError(f"{folder}: the artifact {strange[0]!r:.80} cannot be the name of a file")
    for old in kept.glob("*.json"):  # of a larger panel
        old.unlink()
    for artifact, (_, tree) in trees.items():
        write_json(kept / f"{artifact}.json", tree.to_dict())
    options = {role: own for role, own in configuration.get("options", {}).items() if role in ROLES}
    laid_out = RunOptions(
        PANEL,
        trees=kept,
        judge=engine["judge"],
        voice=engine["voice"],
        artifacts=artifacts,
        turns=configuration.get("turns") or MAX_TURNS,
        rules=Rules.from_dict(configuration["rules"]),
        seed=asked.seed,
        prompts=asked.prompts,
        role_options=RoleOptions(options),
        manner=manner_in(configuration),
    )
    return lay_out(laid_out)


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
        raise DiscoverError(OUTSIDE)
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
        subject["edition"] = 2  # later editions change words, which decide no certificate
    if "manner" in configuration and engine.get("voice") != MINIATURE:
        subject["manner"] = configuration["manner"]
    return subject


# -- who vouches for a run, wherever its user was certified ------------------------------------------------------------


def read_certificate(folder: Path) -> Certificate | None:
    """The certificate in a run's folder, or None.

    Raises:
        DiscoverError: an invalid file.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return Certificate.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise DiscoverError(
            f"{path}: not a certificate ({error}); make a new one with 'discover audit --certify'"
        ) from None


@dataclass(frozen=True)
class Trust:
    """What vouches for the simulated user of a run.

    Attributes:
        certificates: of this very user: one, or one for each domain of the run.
        missing: why there is no certificate, in one sentence, or "".
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
        """The certificates in one line, each with its domain if there are several."""
        if len(self.certificates) == 1:
            return self.certificates[0].line
        return "; ".join(f"{', '.join(each.domains)}: {each.line}" for each in self.certificates)

    @property
    def verdict(self) -> str:
        """The result and its meaning for numbers of this user."""
        if self.result == "passed":
            return f"This simulated user is validated: {self.line}."
        word = {"failed": "failed its validation", "undecided": "is not validated"}[self.result]
        return f"This simulated user {word}: {self.line}. Draw no conclusion from these numbers."


def trust_in(folder: Path) -> Trust:
    """The certificates of the simulated user of a run: its own, else those of the same user.

    The same user is the same judge, voice, prompts, rules and version of the code, in the same domain.
    """
    try:
        with RunStore.read(folder) as store:
            subject, domains = subject_of(store.configuration), _domains_of(store)
        own = read_certificate(folder)
    except DiscoverError as error:
        return Trust(missing=f"Not validated: {error}.")
    known = list(_known_certificates())
    if own is not None and not (changed := _differing(own, subject)):
        # A quick look with few artifacts does not outvote the same user's certificate of many.
        return Trust((max(own, _largest(known, subject, domains) or own, key=lambda each: each.artifacts),))
    for groups in ((domains,), tuple((domain,) for domain in domains)):
        fitting = [_largest(known, subject, group) for group in groups]
        if domains and all(fitting):
            return Trust(tuple(each for each in fitting if each is not None))
    how = f"validation is impossible: {OUTSIDE}"
    if domains:
        how = "validate it with 'discover audit RUN --certify' or on the page Trust"
    if own is not None:
        return Trust(missing=f"The validation is of another simulated user (its {', '.join(changed)} differ); {how}.")
    return Trust(missing=f"Not validated: this simulated user has not been tested yet; {how}.")


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
    """Certificates of the library, then those of all runs; older ones without domains are left out."""
    shipped = data_folder() / SHIPPED
    files = [shipped] if shipped.is_file() else []
    for file in [*files, *outputs_folder().glob(f"*/{FILE}"), *outputs_folder().glob(f"*/*/{FILE}")]:
        try:
            yield from _certificates_in(file, file.stat().st_mtime_ns)
        except (DiscoverError, KeyError, TypeError, ValueError, OSError):  # the page of its own run says so
            continue


@cache
def _certificates_in(file: Path, changed: int) -> tuple[Certificate, ...]:
    data = read_json(file, DiscoverError)
    return tuple(Certificate.from_dict(each) for each in (data if isinstance(data, list) else [data]))


def certify_miniature(domain: str, rules: Rules, manner: Manner | None = None) -> Certificate:
    """The certificate of the miniature's user in one domain, made as `discover audit RUN --certify` makes it."""
    with TemporaryDirectory() as folder:
        execute(lay_out(RunOptions(("silent",), domain=domain, artifacts=1, rules=rules, manner=manner)), Path(folder))
        return Certificate.from_dict(certify(Certify(run=Run(folder))).plain)
