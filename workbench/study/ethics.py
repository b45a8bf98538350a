"""What an ethics board asks for, written from the study file: nothing stands in two places."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from discover_lib.base.files import write_text_lines
from discover_lib.engines.spec import asked_assistants
from discover_lib.metrics.power import Planned
from workbench.study.design import Study
from workbench.study.export import codebook_lines
from workbench.study.pages import debrief_text, information
from workbench.views.html import joined, tag

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
        "data-flow.svg": [_data_flow(study)],
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


def _data_flow(study: Study) -> str:
    """Whose computer sees what, as a drawing."""
    models = list(dict.fromkeys(asked_assistants(study.assistants)))
    reader = study.data.model_provider if models else "Assistants on this machine"
    steps = [
        ("The participant’s browser", "messages, ratings, answers; no third-party script"),
        ("This server", f"keeps them until {study.data.keep_until}; outside ids as salted hashes, apart"),
        (reader, "reads the conversation; writes the reply"),
        ("Export", "scanned for personal data; names replaced by pseudonyms"),
    ]
    parts = []
    for place, (name, what) in enumerate(steps):
        top = 10 + 78 * place
        box = tag("rect", x=10, y=top, width=620, height=56, rx=8, fill="#ffffff", stroke="#0a7566")
        words = {"font_family": "system-ui, sans-serif", "fill": "#1a222c"}
        head = tag("text", name, x=26, y=top + 23, font_weight="bold", font_size=15, **words)
        arrow = tag("path", d=f"M320 {top + 56}v22", stroke="#0a7566", stroke_width=2)
        parts += [box, head, tag("text", what, x=26, y=top + 44, font_size=14, **words)]
        parts += [arrow] if place < len(steps) - 1 else []
    return str(tag("svg", joined(parts), xmlns="http://www.w3.org/2000/svg", viewBox="0 0 640 320", role="img"))
