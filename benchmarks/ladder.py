"""The experiments of docs/ladder.md: where do DPO and GRPO add to imitation, in the miniature?

    .venv/bin/python benchmarks/ladder.py run --seeds 1 2 3 4 5 [--arms a.] [--folder outputs/ladder]
    .venv/bin/python benchmarks/ladder.py run --seeds 6 7 8 9 10 --arms d.
    .venv/bin/python benchmarks/ladder.py run --seeds 11 12 13 14 15 --arms e.
    .venv/bin/python benchmarks/ladder.py write    # docs/results/ladder.json, and the tables in docs/ladder.md

Every arm (one stage of training, or one measured assistant) is a file.  Finished arms are skipped, and a killed run
resumes.  Several processes may share a folder if each has different seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pages import put

from discover_lib.base.files import outputs_folder, write_json
from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Conversation, Message, Reply
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.engines.local.tiny_model import TinyRecipe, pretrain, save_model, vocabulary
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts, taste_weights
from discover_lib.engines.miniature.assistants import ScriptedAssistant, adaptive
from discover_lib.engines.miniature.lexicon import DOMAINS, load_lexicon
from discover_lib.engines.miniature.reading import believe, read_reply
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.metrics.paired import holm
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.recipes import Recipe, Stage
from discover_lib.train.run_stage import StageSettings, run_stage

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE, KEPT = REPOSITORY / "docs" / "ladder.md", REPOSITORY / "docs" / "results" / "ladder.json"
SEEDS = (1, 2, 3, 4, 5)
FRESH = (6, 7, 8, 9, 10)  # of (d), which was registered when the others had been seen
ALONE, ONE = (11, 12, 13, 14, 15), "svg_drawing"  # of (e), registered later still, and its one domain
TRAIN_ARTIFACTS, USERS, TURNS = 200, 100, 5  # artifacts per domain, and turns
TRAIN_ALONE, TRIALS_ALONE = 500, 3  # artifacts of the one domain, and conversations about each of the held-out ones
LEAST_GAIN, LEVEL = 0.25, 0.05
SWITCHING, STUBBORN = ("draft", "adaptive"), ("options", "draft")
IN_FLIGHT = 128

# The one setting of GRPO that all experiments share; whatever an arm changes stands in its own line.
GRPO = {"learning_rate": 1e-3, "max_steps": 96, "batch": 64, "per_device": 64, "probe_users": 60, "save_steps": 24}
SEVERAL = {**GRPO, "batch": 24, "per_device": 24, "multi_turn": 3, "reward_to_go": True}
AHEAD = {**GRPO, "look_ahead": 2}
LARGE = {**GRPO, "batch": 192, "per_device": 96}


@dataclass(frozen=True)
class Arm:
    """One stage of training.

    Attributes:
        after: the arm that it begins with; "" for the base.
        taste: whether artifacts are drawn with a taste (its number is the seed), or evenly.
        gift: whether the base's embeddings begin where the taxonomies put them.
    """

    name: str
    stage: Stage
    after: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    teachers: tuple[str, ...] = SWITCHING
    taste: bool = True
    gift: bool = True


def ladder(prefix: str, grpo: Mapping[str, Any] = GRPO, **named: Any) -> tuple[Arm, ...]:
    """SFT, DPO on it, GRPO on that."""
    sft, both = f"{prefix}.sft", f"{prefix}.sft+dpo"
    return (
        Arm(sft, "sft", **named),
        Arm(both, "dpo", sft, **named),
        Arm(f"{prefix}.sft+dpo+grpo", "grpo", both, grpo, **named),
    )


def stubborn(steps: int) -> tuple[Arm, ...]:
    """Teachers that never switch, imitated for some steps."""
    prefix, named = f"c{steps}", {"teachers": STUBBORN, "taste": False}
    sft, both = f"{prefix}.sft", f"{prefix}.sft+dpo"
    return (
        Arm(sft, "sft", changes={"max_steps": steps}, **named),
        Arm(both, "dpo", sft, **named),
        Arm(f"{both}+grpo", "grpo", both, GRPO, **named),
        Arm(f"{both}+grpo-ahead", "grpo", both, AHEAD, **named),
    )


ARMS = (
    *ladder("a"),
    Arm("b.several", "grpo", "a.sft+dpo", SEVERAL),
    *ladder("plain", gift=False),
    *(arm for steps in (20, 70, 40, 102) for arm in stubborn(steps)),
    *ladder("d", LARGE),
    *ladder("e"),
)
ARM = {arm.name: arm for arm in ARMS}
BASES = {"base": True, "plain.base": False}  # whether it has the gift
SCRIPTED = ("draft", "adaptive", "options", "knowing", "oracle")


# -- who is measured ---------------------------------------------------------------------------------------------------


class Liker(random.Random):
    """In place of a random draw among values, takes the value that a taste likes most."""

    def __init__(self, seed: int, weights: Mapping[str, float], domain: str) -> None:
        super().__init__(seed)
        self.weights, self.lexicon = weights, load_lexicon(domain)

    def liked(self, value: str) -> float:
        leaves = self.lexicon.below[value] if value in self.lexicon.values else ()
        return max((self.weights[leaf] for leaf in leaves or (value,) if leaf in self.weights), default=0.0)

    def choice(self, values: Any) -> Any:
        return max(values, key=self.liked) if any(map(self.liked, values)) else super().choice(values)

    def sample(self, population: Any, k: int, **_: Any) -> Any:
        return sorted(population, key=self.liked, reverse=True)[:k]

    def shuffle(self, x: Any) -> None:
        """What is liked most last: rows of leaves are taken from their ends."""
        super().shuffle(x)
        x.sort(key=self.liked)


class Knowing(ScriptedAssistant):
    """`adaptive` with the taste's favorite in place of every random draw: the ceiling of learning the taste."""

    def __init__(self, domain: str, taste: int) -> None:
        super().__init__("adaptive", domain)
        self.weights = taste_weights(domain, taste)

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        beliefs = believe(messages, self.lexicon)
        moves = adaptive(beliefs, Liker(seed, self.weights, self.lexicon.domain))
        return make_reply(moves, self.lexicon, "knowing", beliefs.sampled_with())


def repeats(conversation: Conversation, domain: str) -> tuple[int, int]:
    """(values shown that had been shown before and found no favour, values shown) over all replies but the first."""
    lexicon, again, shown = load_lexicon(domain), 0, 0
    for number, turn in enumerate(conversation.turns[1:], 1):
        beliefs = believe(conversation.messages(number), lexicon)
        said = {*beliefs.wanted, *beliefs.liked}
        for value in {value for option in read_reply(turn.reply.text, domain).options for value in option}:
            shown += 1
            again += value in beliefs.tried_before and not any(lexicon.covers(wish, value) for wish in said)
    return again, shown


@dataclass
class Work:
    """All arms of one seed, in a folder."""

    folder: Path
    seed: int

    def taste(self, taste: bool) -> int:
        return self.seed if taste else 0

    # -- training --------------------------------------------------------------------------------------------------

    def base(self, gift: bool) -> Path:
        """The pretrained base, one for all seeds; without the gift it need not pass the gate, and is measured."""
        recipe = TinyRecipe(taxonomy=gift)
        folder = outputs_folder() / "cache" / "tiny" / recipe.key
        if not (folder / "tiny.json").is_file():
            save_model(pretrain(recipe), vocabulary(recipe.domains), folder)
            card = {"format": "discover-tiny/1", "domains": list(recipe.domains), "recipe": asdict(recipe)}
            write_json(folder / "tiny.json", card)
        return folder

    def synthesis(self, arm: Arm) -> Path:
        """Conversations of an arm's teachers, in which the best reply is selected."""
        world = f"taste{self.seed}" if arm.taste else "even"
        folder = self.folder / f"synthesis-{'+'.join(arm.teachers)}-{world}-{self.seed}"
        if not (folder / "done").exists():
            folder.mkdir(parents=True, exist_ok=True)
            options = RunOptions(
                arm.teachers,
                ", ".join(domains_of(self.seed)),
                split="train",
                artifacts=TRAIN_ALONE if self.seed in ALONE else TRAIN_ARTIFACTS,
                candidates=1,
                seed=self.seed,
                taste=self.taste(arm.taste),
            )
            run = lay_out(options)
            ended = execute(run, folder, score=True)
            assert ended.halted is None, ended
            (folder / "done").touch()
        return folder

    def adapter(self, name: str) -> Path:
        return self.folder / f"{name}-{self.seed}"

    def train(self, arm: Arm) -> None:
        folder, began = self.adapter(arm.name), time.process_time()
        if (folder / "result.json").exists():
            return
        settings = StageSettings(
            arm.stage,
            data=str(self.synthesis(arm)),
            base=str(self.base(arm.gift)),
            adapter=str(self.adapter(arm.after)) if arm.after else "",
            recipe=Recipe.miniature().changed(arm.stage, arm.changes),
            seed=self.seed,
        )
        run_stage(settings, folder, on_progress=lambda line: print(f"    {line}", flush=True))
        made = {"cpu_seconds": round(time.process_time() - began, 1), "load": os.getloadavg()[1], "commit": commit()}
        write_json(folder / "made.json", made)

    # -- measuring -------------------------------------------------------------------------------------------------

    def measured(self, who: str, taste: bool) -> Path:
        return self.folder / "measured" / f"{who}-{'taste' if taste else 'even'}-{self.seed}.json"

    def measure(self, who: str, taste: bool) -> None:
        """Conversations of one assistant with all held-out users, one each."""
        path, began = self.measured(who, taste), time.process_time()
        if path.exists():
            return
        found: dict[str, list[int]] = {}
        counts = {"again": 0, "shown": 0, "broken": 0, "replies": 0, "tokens": 0}
        for domain in domains_of(self.seed):
            plays, assistant = engine(domain), self.assistant(who, domain, taste)
            trees = [plays.builder.build(each).tree for each in self.users(domain, taste)]

            def talk(place: int, plays: Any = plays, assistant: Any = assistant, trees: Any = trees) -> Conversation:
                return run_conversation(
                    trees[place],
                    plays.judge,
                    plays.voice,
                    [assistant],
                    seed=derive_seed(self.seed, "ladder", plays.domain, place),
                    turns=TURNS,
                    setting={"domain": plays.domain, "artifact": str(place), "trial": 0, "assistants": [who]},
                )

            with ThreadPoolExecutor(IN_FLIGHT) as pool:
                talks = list(pool.map(talk, range(len(trees))))
            found[domain] = [scores_of(each, place).discovered for place, each in enumerate(talks)]
            for each in talks:
                again, shown = repeats(each, domain)
                replies = [turn.reply for turn in each.turns]
                counts["again"] += again
                counts["shown"] += shown
                counts["replies"] += len(replies)
                counts["broken"] += sum(map(is_broken, replies))
                counts["tokens"] += sum(reply.n_tokens for reply in replies)
        made = {"cpu_seconds": round(time.process_time() - began, 1), "load": os.getloadavg()[1], "commit": commit()}
        write_json(path, {"who": who, "taste": taste, "seed": self.seed, "discovered": found, **counts, **made})

    def users(self, domain: str, taste: bool) -> Sequence[Any]:
        artifacts = generate_artifacts(domain, "eval", USERS, self.taste(taste))
        return artifacts * (TRIALS_ALONE if self.seed in ALONE else 1)

    def assistant(self, who: str, domain: str, taste: bool) -> Any:
        if who == "knowing":
            return Knowing(domain, self.taste(taste))
        roles = RoleEngines(EngineSpec())
        if who in BASES:
            return roles.assistant(f"hf:{self.base(BASES[who])}", domain)
        return roles.assistant(f"hf:{self.adapter(who)}" if who in ARM else who, domain)


def domains_of(seed: int) -> Sequence[str]:
    return (ONE,) if seed in ALONE else DOMAINS


def commit() -> str:
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return told.stdout.strip()


def run(options: argparse.Namespace) -> None:
    """All arms whose names begin as asked, for all seeds: one arm of every seed before the next arm."""
    import torch

    torch.set_num_threads(1)
    arms = [arm for arm in ARMS if arm.name.startswith(tuple(options.arms))]
    for seed in options.seeds:
        work = Work(options.folder, seed)
        for arm in arms:
            print(f"seed {seed}, {arm.name}: load {os.getloadavg()[0]:.1f}", flush=True)
            work.train(arm)
            work.measure(arm.name, arm.taste)
        for taste, gift in sorted({(arm.taste, arm.gift) for arm in arms}):
            base = next(name for name, has in BASES.items() if has == gift)
            for who in (base, *(name for name in SCRIPTED if taste or name != "knowing")):
                work.measure(who, taste)


# -- what came out -----------------------------------------------------------------------------------------------------

Values = Mapping[int, Mapping[str, Sequence[int]]]  # seed → domain → one number per user


@dataclass(frozen=True)
class Contrast:
    """One comparison of two assistants who met the same users, over seeds.

    Attributes:
        seeds: of every seed, over its users, with a bootstrap interval over these.
        low, high: Student's 95% interval of the mean over seeds; None of one seed.
        p: of Student's test over seeds, two-sided; None of one seed.
    """

    mean: float
    seeds: tuple[Estimate, ...]
    users: int
    low: float | None = None
    high: float | None = None
    p: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return signed(self.seeds[0])
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def by_artifact(seed: int, values: Sequence[int]) -> dict[str, list[float]]:
    """One value a user, by the artifact that they want."""
    artifacts: dict[str, list[float]] = {}
    for place, value in enumerate(values):
        artifacts.setdefault(f"{place % USERS if seed in ALONE else place:03d}", []).append(value)
    return artifacts


def contrast(ours: Values, theirs: Values, domains: Sequence[str] = DOMAINS) -> Contrast | None:
    """`ours − theirs`, paired by user; the unit is the seed, with which users, taste and training change."""
    from scipy import stats

    pairs = {}
    for seed in sorted(set(ours) & set(theirs)):
        shared = [name for name in domains if name in domains_of(seed)]
        if shared:
            pairs[seed] = [a - b for name in shared for a, b in zip(ours[seed][name], theirs[seed][name], strict=True)]
    if not pairs:
        return None
    estimates = tuple(bootstrap_mean(by_artifact(seed, values)) for seed, values in pairs.items())
    means = [each.mean for each in estimates]
    mean, users = fmean(means), sum(map(len, pairs.values()))
    if len(means) == 1:
        return Contrast(mean, estimates, users)
    error = stdev(means) / math.sqrt(len(means))
    reach = float(stats.t.ppf(0.975, len(means) - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, len(means) - 1)) if error else 0.0
    return Contrast(mean, estimates, users, mean - reach, mean + reach, p)


def signed(each: Estimate) -> str:
    return f"{each.mean:+.2f} [{each.low:+.2f}, {each.high:+.2f}]"


def gathered(folder: Path) -> dict[str, Any]:
    """All measurements with their settings, as stored."""
    measured = [json.loads(path.read_text("utf-8")) for path in sorted((folder / "measured").glob("*.json"))]
    trained = {}
    for arm in ARMS:
        for path in sorted(folder.glob(f"{arm.name}-[0-9]*/made.json")):
            if not (path.parent / "result.json").exists():  # stopped on the way; the same command goes on
                continue
            seed = path.parent.name.rpartition("-")[2]
            recipe = json.loads((path.parent / "settings.json").read_text("utf-8"))["recipe"]
            result = json.loads((path.parent / "result.json").read_text("utf-8"))
            told = {"recipe": recipe[arm.stage], "kept_round": result.get("kept_round"), "arm": asdict(arm)}
            probes = [json.loads(each.read_text("utf-8")) for each in sorted(path.parent.glob("rounds/probe-*.json"))]
            if probes:
                told["probes"] = [bootstrap_mean(each["by_artifact"]).to_dict() for each in probes]
            trained[f"{arm.name}-{seed}"] = {**told, **json.loads(path.read_text("utf-8"))}
    return {"format": "discover-ladder/1", "users_per_domain": USERS, "measured": measured, "trained": trained}


def values_of(kept: Mapping[str, Any], who: str, taste: bool, seeds: Sequence[int] = SEEDS) -> Values:
    return {
        each["seed"]: each["discovered"]
        for each in kept["measured"]
        if (each["who"], each["taste"]) == (who, taste) and each["seed"] in seeds
    }


# Three families of claims, in the order in which they were registered: (claim, ours, theirs, with a taste).
CLAIMS = (
    ("(a) GRPO − SFT+DPO", "a.sft+dpo+grpo", "a.sft+dpo", True),
    ("(a) DPO − SFT", "a.sft+dpo", "a.sft", True),
    ("(a) GRPO − best teacher", "a.sft+dpo+grpo", "adaptive", True),
    ("(b) several turns − single turns", "b.several", "a.sft+dpo+grpo", True),
    *(
        claim
        for steps in (20, 40, 70, 102)
        for claim in (
            (f"(c) SFT {steps}: DPO − SFT", f"c{steps}.sft+dpo", f"c{steps}.sft", False),
            (f"(c) SFT {steps}: GRPO − SFT+DPO", f"c{steps}.sft+dpo+grpo", f"c{steps}.sft+dpo", False),
            (f"(c) SFT {steps}: look-ahead − SFT+DPO", f"c{steps}.sft+dpo+grpo-ahead", f"c{steps}.sft+dpo", False),
        )
    ),
)
LATER_CLAIMS = (
    ("(d) GRPO of 192 replies − SFT+DPO", "d.sft+dpo+grpo", "d.sft+dpo", True),
    ("(d) GRPO of 192 replies − best teacher", "d.sft+dpo+grpo", "adaptive", True),
)
ALONE_CLAIMS = (
    ("(e) one domain: GRPO − SFT+DPO", "e.sft+dpo+grpo", "e.sft+dpo", True),
    ("(e) one domain: DPO − SFT", "e.sft+dpo", "e.sft", True),
    ("(e) one domain: GRPO − best teacher", "e.sft+dpo+grpo", "adaptive", True),
)
UNCLAIMED = (
    ("without taxonomy initialization: GRPO − SFT+DPO", "plain.sft+dpo+grpo", "plain.sft+dpo", True, SEEDS),
    ("without taxonomy initialization: DPO − SFT", "plain.sft+dpo", "plain.sft", True, SEEDS),
    ("without taxonomy initialization: GRPO − best teacher", "plain.sft+dpo+grpo", "adaptive", True, SEEDS),
    ("ceiling: knowing − adaptive", "knowing", "adaptive", True, SEEDS),
    ("(d) DPO − SFT", "d.sft+dpo", "d.sft", True, FRESH),
    ("(d) ceiling: knowing − adaptive", "knowing", "adaptive", True, FRESH),
    ("(e) ceiling: knowing − adaptive", "knowing", "adaptive", True, ALONE),
)


# Beside the registrations: every training of (a), (d) and (e), whose GRPO differs in replies an update and domains.
TOGETHER = (
    ("(a), (d), (e) together: GRPO − SFT+DPO", "sft+dpo+grpo", "sft+dpo"),
    ("(a), (d), (e) together: DPO − SFT", "sft+dpo", "sft"),
    ("(a), (d), (e) together: GRPO − best teacher", "sft+dpo+grpo", ""),
)


def trained_with_a_taste(kept: Mapping[str, Any], rungs: str) -> Values:
    """Of all seeds of (a), (d) and (e): the assistant that went through these stages; of no stage, `adaptive`."""
    families = (("a", SEEDS), ("d", FRESH), ("e", ALONE))
    names = [(f"{prefix}.{rungs}" if rungs else "adaptive", seeds) for prefix, seeds in families]
    return {seed: values for name, seeds in names for seed, values in values_of(kept, name, True, seeds).items()}


def claim_rows(kept: Mapping[str, Any]) -> Iterator[str]:
    """Every claim whose arms were run, by the seeds that were; Holm's correction within a family."""
    yield "| claim | gain in discovered intents | seeds, users | p (Holm) | met |"
    yield "|---|---|---|---|---|"
    missing, details = [], []
    for claims, seeds in ((CLAIMS, SEEDS), (LATER_CLAIMS, FRESH), (ALONE_CLAIMS, ALONE)):
        contrasts = [
            contrast(values_of(kept, ours, taste, seeds), values_of(kept, theirs, taste, seeds))
            for _, ours, theirs, taste in claims
        ]
        adjusted = iter(holm([each.p for each in contrasts if each is not None and each.p is not None]))
        for (name, *who, taste), each in zip(claims, contrasts, strict=True):
            if each is None:
                missing.append(name)
                continue
            p = next(adjusted) if each.p is not None else None
            clear = each.low is not None and each.low > 0
            met = "yes" if clear and each.mean >= LEAST_GAIN and p is not None and p < LEVEL else "no"
            met = met if len(each.seeds) == len(seeds) else f"open: {len(each.seeds)} of {len(seeds)} seeds"
            yield f"{row(name, each)} {'' if p is None else f'{p:.4f}'} | {met} |"
            details.append(detail(name, each, *(values_of(kept, one, taste, seeds) for one in who)))
    pairs = [(name, [values_of(kept, one, taste, seeds) for one in who]) for name, *who, taste, seeds in UNCLAIMED]
    pairs += [(name, [trained_with_a_taste(kept, one) for one in who]) for name, *who in TOGETHER]
    for name, pair in pairs:
        if each := contrast(*pair):
            yield f"{row(name, each)} | not a claim |"
            details.append(detail(name, each, *pair))
    if missing:
        yield f"\nNot run: {'; '.join(missing)}."
    yield "\nThe same gains by domain and by seed:\n"
    yield f"| claim | {' | '.join(DOMAINS)} | each seed |"
    yield "|---" * (len(DOMAINS) + 2) + "|"
    yield from details


def row(name: str, each: Contrast) -> str:
    return f"| {name} | {each} | {len(each.seeds)}, {each.users} |"


def detail(name: str, each: Contrast, ours: Values, theirs: Values) -> str:
    by_domain = (str(contrast(ours, theirs, [domain]) or "") for domain in DOMAINS)
    return f"| {name} | {' | '.join(by_domain)} | {', '.join(map(signed, each.seeds))} |"


def assistant_rows(kept: Mapping[str, Any]) -> Iterator[str]:
    """Means of every assistant, by kind of artifacts and the seeds of a family."""
    yield "| artifacts | assistant | discovered | seeds, users | repeated values | broken replies | tokens |"
    yield "|---|---|---|---|---|---|---|"
    names = dict.fromkeys((each["taste"], each["who"]) for each in kept["measured"])
    for seeds in (SEEDS, FRESH, ALONE):
        for taste, who in sorted(names, key=lambda name: (not name[0], -mean_of(kept, *name, seeds))):
            records = [one for one in kept["measured"] if (one["taste"], one["who"]) == (taste, who)]
            records = [one for one in records if one["seed"] in seeds]
            if not records:
                continue
            by_user = {
                f"{one['seed']} {name} {place}": [value]
                for one in records
                for name, values in one["discovered"].items()
                for place, value in enumerate(values)
            }
            total = {key: sum(one[key] for one in records) for key in ("again", "shown", "broken", "replies", "tokens")}
            again = f"{100 * total['again'] / total['shown']:.1f}%" if total["shown"] else ""
            broken = f"{100 * total['broken'] / total['replies']:.1f}%"
            artifacts = f"{'value skew' if taste else 'even'}, seeds {seeds[0]} to {seeds[-1]}"
            yield (
                f"| {artifacts} | {who} | {bootstrap_mean(by_user)} "
                f"| {len(records)}, {len(by_user)} | {again} | {broken} | {total['tokens'] / len(by_user):.0f} |"
            )


def mean_of(kept: Mapping[str, Any], taste: bool, who: str, seeds: Sequence[int]) -> float:
    by_seed = values_of(kept, who, taste, seeds)
    every = [value for each in by_seed.values() for values in each.values() for value in values]
    return fmean(every) if every else 0.0


def told(kept: Mapping[str, Any]) -> str:
    trained = kept["trained"].values()
    seconds, loads = [each["cpu_seconds"] for each in trained], [each["load"] for each in trained]
    note = (
        f"{len(trained)} stages trained in {sum(seconds) / 60:.0f} minutes of processor time, at a load of "
        f"{min(loads):.1f} to {max(loads):.1f} on two cores."
        if seconds
        else "Nothing trained yet."
    )
    return "\n".join([*claim_rows(kept), "", *assistant_rows(kept), "", note])


def write(options: argparse.Namespace) -> None:
    kept = gathered(options.folder) if (options.folder / "measured").is_dir() else json.loads(KEPT.read_text("utf-8"))
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    text = told(kept)
    put(PAGE, "ladder", text)
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("--folder", type=Path, default=outputs_folder() / "ladder")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--arms", nargs="+", default=[""], help="beginnings of their names")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    {"run": run, "write": write}[options.what](options)


if __name__ == "__main__":
    main()
