"""What an ethics board asks for, written from the study file: nothing stands in two places."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from discover_lib.base.files import write_text_lines
from discover_lib.engines.spec import asked_assistants
from discover_lib.metrics.power import Planned
from workbench.study.design import Study
from workbench.study.study_export import codebook_lines
from workbench.study.study_pages import debrief_text, information

ASSUMED_SD = 2.0  # points of a ten-point scale, until a pilot has measured it


def write_pack(study: Study, folder: Path) -> list[Path]:
    """Information sheet, consent, debrief, flow of data, codebook and the stub of a preregistration."""
    sheets = {
        "information.md": _sheet(f"Information: {study.title}", information(study)),
        "consent.md": [
            f"# Consent: {study.title}",
            "",
            "I am 18 or older, I have read this, and I agree to take part.",
        ],
        "debrief.md": ["# Debrief", "", debrief_text(study) or "Nothing was withheld."],
        "codebook.md": codebook_lines(study),
        "preregistration.md": _preregistration(study),
        "data-flow.md": _data_flow(study),
    }
    for name, lines in sheets.items():
        write_text_lines(folder / name, lines)
    return [folder / name for name in sheets]


def _sheet(title: str, entries: dict[str, str]) -> list[str]:
    return [f"# {title}", *(line for head, text in entries.items() for line in ("", f"**{head}.** {text}"))]


def _preregistration(study: Study) -> list[str]:
    planned = Planned(study.design, 1.0, ASSUMED_SD, 0.5 if study.design == "paired" else 0.0, len(study.conditions))
    contrasts = ", ".join(f"{second} − {first}" for first, second in combinations(study.conditions, 2))
    corrected = f", by Holm over these {planned.pairs} pairs within each outcome" if planned.pairs > 1 else ""
    smallest = planned.detectable(study.participants)
    entries = {
        "Hypotheses": "To be written before the first participant.",
        "Design": f"{study.design}; conditions {', '.join(study.conditions)}; tasks {', '.join(study.tasks)}.",
        "Assignment": f"Permuted blocks of {len(study.cells)} (every task with every condition once), seeded, "
        "concealed from participants; the slot of somebody who withdraws or times out is filled again.",
        "Participants": f"{study.participants}, no interim look at outcomes.",
        "Power": f"With a standard deviation of {ASSUMED_SD:g} points (to be replaced by a pilot's), a difference of "
        f"{smallest:.2f} points is found with 80 % probability at 5 %, two-sided"
        + (f", shared by {planned.pairs} pairs of conditions." if planned.pairs > 1 else "."),
        "Outcomes": "; ".join(f"{name}: {scale.question}" for name, scale in study.final.scales.items()) + ".",
        "Analysis": f"Difference of means with a 95 % interval ({contrasts}): "
        + ("Welch's t" if study.design == "between" else "bootstrap and sign-flip test over pairs of one person")
        + f"{corrected}.",
        "Excluded": "Nobody who finished; people who withdraw are deleted and counted.",
        "Version": f"The study file has the version {study.version}.",
    }
    return _sheet(f"Preregistration: {study.title}", entries)


def _data_flow(study: Study) -> list[str]:
    """Whose computer sees what, in the order in which a message goes."""
    reader = study.data.model_provider if asked_assistants(study.assistants) else "Assistants on this machine"
    steps = {
        "1. The participant’s browser": "messages, ratings, answers; no third-party script",
        "2. This server": f"keeps them until {study.data.keep_until}; outside ids as salted hashes, apart",
        f"3. {reader}": "reads the conversation; writes the reply",
        "4. Export": "scanned for personal data; names replaced by pseudonyms",
    }
    return _sheet(f"Flow of data: {study.title}", steps)
