"""The pages that participants see. `static/study_page.html` has the forms; no page is told its condition.

Personal data is found by pattern: participants read a warning before they send it, and the export searches again.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from workbench.study.design import PLACEHOLDER, Study
from workbench.views.html import rich_text, static_text
from workbench.views.saved_pages import page

UNSAID = "unsaid"  # the value of a rating that a participant would rather not give
APOLOGY = "We are sorry. The assistant could not answer. Your text is saved. Please try again."
PLACES = {"consent": 1, "eligibility": 2, "task": 3, "chat": 4, "rating": 4, "final": 5, "done": 6}
TITLES = {
    "consent": "Before you begin",
    "eligibility": "A few questions first",
    "task": "Your task",
    "final": "Your opinion",
    "no_consent": "Thank you",
    "screened_out": "Thank you",
    "timed_out": "The time is over",
    "done": "Thank you",
    "withdraw": "Withdraw",
    "withdrawn": "Withdrawn",
    "twice": "You took part before",
}
AGREEMENT = "I am 18 or older, I have read this, and I agree to take part."


def study_page(study: Study, step: str, code: str = "", problem: str = "", **values: Any) -> str:
    """The page of a step: a participant's present one, "withdraw", "withdrawn" or "twice".

    Args:
        problem: the sentence that asks for a missing answer.
        values: what the step's part of the template needs. A participant's step needs `progress`, `values` (the fields
            of the form that was sent, to fill it in again) and `personal` (their stretches of personal data).
    """
    place = PLACES.get(step)
    topic = values["progress"].topic if step in ("chat", "rating") else ""
    return page(
        "study_page.html",
        TITLES.get(step, topic[:1].upper() + topic[1:]),
        ("workbench.css", "study.css"),
        static_text("study.js"),
        served=True,
        study=study,
        step=step,
        place=f"Step {place} of {max(PLACES.values())}" if place else "",
        code=shown_code(code),
        shown_code=shown_code,
        problem=problem,
        UNSAID=UNSAID,
        APOLOGY=APOLOGY,
        AGREEMENT=AGREEMENT,
        information=information(study),
        debrief=debrief_text(study),
        rich_text=rich_text,
        **values,
    )


def shown_code(code: str) -> str:
    """A code in groups of four letters, easy to read aloud."""
    return "-".join(code[place : place + 4] for place in range(0, len(code), 4))


def information(study: Study) -> dict[str, str]:
    """Heading → text of the information sheet, with all facts that an ethics board asks for."""
    data, contact, chat, rights = study.data, study.contact, study.chat, study.rights
    pay = "There is no payment."
    if study.pay:
        amount = f"{study.pay.currency}{study.pay.amount:.2f}"
        pay = f"{amount} for about {study.pay.minutes} minutes. You are paid in full if you finish."
    return {
        "Purpose": study.consent.purpose,
        "What you do": f"{study.consent.procedure} You send at least {chat.minimum} messages.",
        "Time and payment": pay,
        "Risks": study.consent.risks,
        "Benefits": study.consent.benefits,
        "What we record": "Your messages, the replies, your ratings and answers, and the time of each. We count how "
        "often you paste text and how often you leave the page. We record no names and no network addresses.",
        "Who reads your text": f"{data.model_provider}. Is your text used to train an AI? "
        f"{data.trains_on_it.capitalize()}.",
        "Participant number": "If you came with a participant number, we store it in scrambled form, apart from your "
        "answers.",
        "Publication": data.published,
        "How long we keep it": f"Until {data.keep_until}. Backups: {data.backups}.",
        "Leaving": "You may leave at any time. You do not have to give a reason. Your code is on every page. With it "
        f"you can delete everything that you wrote until {rights.withdraw_until or PLACEHOLDER}. We "
        "then keep only a count of people who left. We cannot delete text that is already published.",
        "Legal basis": rights.legal_basis,
        "Your rights": "You may ask for a copy of your data. You may ask us to correct or delete it. We need your code "
        "to know which answers are yours.",
        "Complaints": rights.complaints,
        "If something upsets you": rights.distress,
        "Contact": ", ".join(filter(None, (contact.name, contact.institution, contact.email, contact.board))),
    }


def debrief_text(study: Study) -> str:
    """The facts that were withheld, told at the end. "" if the study withholds none."""
    if not study.consent.withheld:
        return ""
    return (
        f"We had not told you {study.consent.withheld}. Knowing this could have changed your answers. If you do not "
        "want to be part of the study now, withdraw. We then delete everything that you wrote."
    )


# -- personal data in a text, by pattern -------------------------------------------------------------------------------


PATTERNS = {
    "an e-mail address": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "a web address": r"\b(?:https?://|www\.)\S+",
    "a card or account number": r"\b(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}|\d{4}(?:[ -]?\d{4}){3})\b",
    "a telephone number": r"(?<![\w.])(?:\+\d{1,3}[ /-]?)?(?:\(\d{2,5}\)|\d{2,5})(?:[ /-]?\d{2,4}){2,4}(?![\w.])",
    "a postcode": r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b",
    "a street address": r"\b\d{1,4}[a-z]? (?:[A-Z]\w+ ){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Close|Way)\b",
    "a name": r"\b(?:[Mm]y name is|I am called|[Ii]'m called) [A-Z]\w+(?: [A-Z]\w+)?",
    "a date of birth": r"\b[Bb]orn (?:on|in) (?:the )?\d[\w ./-]*\d{2,4}\b",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
MIN_DIGITS = 9  # of a telephone number; fewer digits are years, scores and sizes


class PersonalData(NamedTuple):
    """A stretch of a text that looks like personal data."""

    kind: str
    text: str


def personal_data(text: str) -> list[PersonalData]:
    """The stretches of a text that look like personal data, in the order of `PATTERNS`. A stretch counts once."""
    found, taken = [], [False] * len(text)
    for kind, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            short = kind == "a telephone number" and sum(map(str.isdigit, match[0])) < MIN_DIGITS
            if short or any(taken[match.start() : match.end()]):
                continue
            taken[match.start() : match.end()] = [True] * len(match[0])
            found.append(PersonalData(kind, match[0]))
    return found
