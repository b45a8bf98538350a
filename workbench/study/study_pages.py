"""What participants see: plain HTML of a form for every step.  Nothing here is told which condition it is."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.study.design import Scale, Study
from workbench.study.flow import Progress, Round
from workbench.study.personal import PersonalData
from workbench.views.html import EMPTY, Markup, error_line, joined, notice, rich_text, static_text, tag
from workbench.views.saved_pages import page

UNSAID = "unsaid"  # a rating that somebody would rather not give
APOLOGY = "We are sorry: the assistant could not answer. Nothing that you wrote is lost. Please try again."
PLACES = {"consent": 1, "eligibility": 2, "task": 3, "chat": 4, "rating": 4, "final": 5, "done": 6}
AGREEMENT = "I am 18 or older, I have read this, and I agree to take part."
Values = Mapping[str, str]  # what was sent in a form that has to be sent again


def step_page(
    standing: Progress,
    code: str,
    *,
    problem: str = "",
    values: Values | None = None,
    personal: list[PersonalData] | None = None,
) -> str:
    """The page of the step where a participant stands.

    Args:
        standing: what their events amount to.
        problem: what is missing in what was sent.
        values: what was sent, to be sent again.
        personal: what in it looks like personal data.
    """
    study, step, values = standing.study, standing.step, values or {}
    wrong = error_line(problem) if problem else EMPTY
    if step == "consent":
        box = tag("label", tag("input", type="checkbox", name="agreed", value="1"), AGREEMENT, class_="st-choice")
        agree = _form("consent", box, _buttons(("Begin", "yes"), ("I do not agree", "no")))
        title, content = "Before you begin", consent_text(study) + wrong + agree
    elif step == "eligibility":
        title, content = "A few questions first", wrong + _eligibility_form(study, values)
    elif step == "task":
        title, content = "Your task", wrong + _task_form(standing, values)
    elif step in ("chat", "rating"):
        title, content = standing.topic[:1].upper() + standing.topic[1:], _chat(standing, wrong, values, personal or [])
    elif step == "final":
        title, content = "Your opinion", wrong + _final_form(standing, values, personal or [])
    else:
        return _page(study, *_ending(standing, code), place=PLACES.get(step), foot=_foot(code))
    return _page(study, title, content, place=PLACES[step], foot=_foot(code))


def _page(study: Study, title: str, *content: Markup, place: int | None = None, foot: Markup = EMPTY) -> str:
    script = static_text("study.js")
    return page(
        "study_page.html",
        title,
        ("workbench.css", "study.css"),
        script,
        served=True,
        study=study.title,
        place=f"Step {place} of {max(PLACES.values())}" if place else "",
        content=joined(content),
        foot=foot,
    )


def _foot(code: str) -> Markup:
    leave = tag("a", "Withdraw and delete everything", href="/withdraw")
    return tag("p", "Your code: ", tag("b", shown_code(code)), " · ", leave)


def shown_code(code: str) -> str:
    """A code in groups of four, as it is read aloud."""
    return "-".join(code[place : place + 4] for place in range(0, len(code), 4))


# -- consent and eligibility -------------------------------------------------------------------------------------------


def consent_text(study: Study) -> Markup:
    """The information sheet: what an ethics board asks for, from the study file."""
    terms = "".join(tag("dt", head) + tag("dd", text) for head, text in information(study).items())
    return tag("dl", Markup(terms))


def information(study: Study) -> dict[str, str]:
    """Heading → sentence of the information sheet."""
    data, contact, chat = study.data, study.contact, study.chat
    pay = f"{study.pay.currency}{study.pay.amount:.2f} for about {study.pay.minutes} minutes. " if study.pay else ""
    sheet = {
        "Purpose": study.consent.purpose,
        "What you do": f"{study.consent.procedure} There are at least {chat.minimum} exchanges.",
        "Duration and payment": pay + "You are paid in full if you finish." if pay else "There is no payment.",
        "Risks": study.consent.risks,
        "Benefits": study.consent.benefits,
        "What is recorded": "Your messages, the replies, your ratings and answers, the times of these, how often you "
        "pasted text and how often you left the page. No names, no network addresses.",
        "Whose model reads your text": f"{data.model_provider} (trained on it: {data.trains_on_it}).",
        "Confidentiality": "An outside id, if you came with one, is stored as a salted hash apart from your answers.",
        "Publication": data.published,
        "Kept until": f"{data.keep_until}. Backups: {data.backups}.",
        "Voluntary": "You may leave at any time without giving a reason. With your code, shown on every page, you can "
        f"delete everything that you wrote until {_until(study)}.",
        **_rights(study),
        "Contact": ", ".join(filter(None, (contact.name, contact.institution, contact.email, contact.board))),
    }
    return sheet


def _rights(study: Study) -> dict[str, str]:
    """What is missing stands as a placeholder."""
    return {
        "Legal basis": study.rights.legal_basis or _placeholder("legal_basis"),
        "Your rights": "You may ask what is kept of you, have it corrected or deleted, and receive a copy. Only with "
        "your code can we tell which answers are yours.",
        "Complaints": study.rights.complaints or _placeholder("complaints"),
        "If something troubles you": study.rights.distress or _placeholder("distress"),
    }


def _until(study: Study) -> str:
    until = study.rights.withdraw_until or _placeholder("withdraw_until")
    return f"{until}; only a count of those who left remains. What is published by then cannot be called back"


def _placeholder(name: str) -> str:
    return f"[to be filled in: rights.{name}]"


def _eligibility_form(study: Study, values: Values) -> Markup:
    fields = [
        _radios(question.id, question.question, {each: each for each in question.answers}, values.get(question.id))
        for question in study.eligibility
    ]
    return _form("eligibility", *fields, _buttons(("Go on", "")))


def _task_form(progress: Progress, values: Values) -> Markup:
    task = progress.study.tasks[progress.task]
    topics = {each: each for each in task.topics}
    about = tag("p", task.text)
    how = tag(
        "p",
        f"You work on it in a chat of at least {progress.study.chat.minimum} exchanges. It is your text: say what you "
        "like and what you do not. Please do not copy text from elsewhere, and write nothing that tells who you are.",
    )
    return (
        about
        + how
        + _form("task", _radios("topic", "Choose a topic", topics, values.get("topic")), _buttons(("Start", "")))
    )


# -- the conversation --------------------------------------------------------------------------------------------------


def _chat(progress: Progress, wrong: Markup, values: Values, personal: list[PersonalData]) -> Markup:
    study, round = progress.study, progress.round
    task = study.tasks[progress.task]
    several = len(progress.arms) > 1
    which = f"Assistant {len(progress.rounds)} of {len(progress.arms)}. " if several else ""
    parts = [tag("p", f"{which}{task.text}", class_="dl-quiet"), _log(round)]
    if progress.step == "rating":
        return joined([*parts, wrong, _form("rating", _scale("rating", study.rating, values), _buttons(("Go on", "")))])
    if round.pending:
        return joined([*parts, _pending_form(progress)])
    if progress.minimum_reached:
        parts.append(
            notice("You have reached the minimum. Go on as long as you like, and finish when you are content.")
        )
    if progress.at_limit:
        parts.append(notice("The conversation ends here: its limit is reached. Please go on to the questions."))
        return joined([*parts, _form("chat", _hidden("n", len(round.exchanges)), _buttons(("Finish", "finish")))])
    return joined([*parts, wrong, _message_form(progress, values, personal)])


def _log(round: Round) -> Markup:
    entries = []
    for each in round.messages:  # the text beside it is for simulated participants, who read no drawing
        said = {"data_role": each.role, "data_text": each.content}
        entries.append(tag("li", _SPEAKERS[each.role], rich_text(each.content), **said))
    name = tag("h2", "The conversation", class_="dl-sr")
    return tag("div", name, tag("ol", *entries, class_="st-log"), role="log")


_SPEAKERS = {role: tag("h3", name, class_="dl-sr") for role, name in (("user", "You"), ("assistant", "The assistant"))}


def _message_form(progress: Progress, values: Values, personal: list[PersonalData]) -> Markup:
    round = progress.round
    warning, confirmed = EMPTY, EMPTY
    if personal:
        warning = _personal_notice(personal, "sent to the assistant")
        sure = tag("input", type="checkbox", name="confirmed", value="1")
        confirmed = tag("label", sure, "Send it as it is; it tells nothing about a real person.", class_="st-choice")
    label = "Your message" if round.exchanges else "Your first message: what would you like?"
    box = tag("textarea", values.get("text", ""), name="text", maxlength=4000, data_chat=True, required=True)
    line = tag(
        "p", f"{round.answered} of at least {progress.study.chat.minimum} exchanges", role="status", class_="dl-quiet"
    )
    fields = (_hidden("n", len(round.exchanges)), tag("label", label, box, class_="st-field"), confirmed)
    form = _form("chat", *fields, _buttons(("Send", "send")))
    finish = EMPTY
    if progress.minimum_reached:
        finish = _form(
            "chat", _hidden("n", len(round.exchanges)), _buttons(("Finish the conversation", "finish"), second=True)
        )
    return warning + line + form + finish


def _personal_notice(personal: list[PersonalData], what: str) -> Markup:
    kinds = ", ".join(f"{each.kind} (“{each.text}”)" for each in personal)
    return notice(f"This looks like personal data: {kinds}. Nothing has been {what} yet. ", tone="warn")


def _pending_form(progress: Progress) -> Markup:
    """A message waits for its reply: the script asks for it by itself, unless the last attempt failed."""
    pending = progress.round.pending
    assert pending is not None
    n = _hidden("n", len(progress.round.exchanges) - 1)
    if pending.failures:
        return error_line(APOLOGY) + _form("chat", n, _buttons(("Try again", "resume")))
    waiting = tag("p", "The assistant is writing …", role="status", class_="st-waiting")
    return waiting + _form("chat", n, _hidden("action", "resume"), _buttons(("Show the reply", "resume")), resume=True)


# -- ratings -----------------------------------------------------------------------------------------------------------


def _final_form(progress: Progress, values: Values, personal: list[PersonalData]) -> Markup:
    study, round = progress.study, progress.round
    fields = [_scale(name, scale, values) for name, scale in study.final.scales.items()]
    for name, text in study.final.texts.items():
        box = tag("textarea", values.get(name, ""), name=name, maxlength=4000, required=True)
        fields.append(tag("label", f"{text.question} (at least {text.minimum} characters)", box, class_="st-field"))
    if study.final.keep_text:
        last = next((message.content for message in reversed(round.messages) if message.role == "assistant"), "")
        box = tag("textarea", values.get("text", last), name="text", maxlength=20_000, rows=12)
        fields.append(tag("label", "Your text as it is to stay: change it, or leave it", box, class_="st-field"))
    if personal:
        sure = tag("input", type="checkbox", name="confirmed", value="1")
        fields.append(tag("label", sure, "Keep it as it is; it tells nothing about a real person.", class_="st-choice"))
    warning = _personal_notice(personal, "kept") if personal else EMPTY
    return warning + _form("final", *fields, _buttons(("Finish", "")))


def _scale(name: str, scale: Scale, values: Values) -> Markup:
    points = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=point, checked=values.get(name) == str(point)),
            f"{point}",
        )
        for point in range(1, scale.points + 1)
    ]
    unsaid = tag("input", type="radio", name=name, value=UNSAID, checked=values.get(name) == UNSAID)
    ends = tag("div", tag("span", f"1 = {scale.low}"), tag("span", f"{scale.points} = {scale.high}"), class_="st-ends")
    row = tag("div", *points, class_="st-scale", style=f"--points:{scale.points}")
    other = tag("label", unsaid, "I would rather not say", class_="st-choice")
    return tag("fieldset", tag("legend", scale.question), row, ends, other)


# -- endings -----------------------------------------------------------------------------------------------------------


def _ending(progress: Progress, code: str) -> tuple[str, Markup]:
    study, step = progress.study, progress.step
    if step == "no_consent":
        return "Thank you", tag("p", "You did not agree, so nothing begins.") + _return(study, "no_consent")
    if step == "screened_out":
        text = (
            "Thank you. This study is for other people. Kept are your answers to the questions and, if you came from "
            "Prolific, a scrambled form of your number there, so that nobody is asked twice. Withdraw, and it is gone."
        )
        return "Thank you", tag("p", text) + _return(study, "screened_out")
    if step == "timed_out":
        return "The time is over", tag("p", "This session has rested for too long and is closed. Thank you.")
    parts = [tag("p", "You have finished. Thank you very much."), debrief(study), _return(study, "completed")]
    keep = "Keep your code. With it you can delete everything that you wrote, at the address below: "
    parts.append(tag("p", keep, tag("span", shown_code(code), class_="st-code")))
    return "Thank you", joined(parts)


def debrief(study: Study) -> Markup:
    """What was withheld, told afterwards."""
    text = debrief_text(study)
    return tag("h2", "What we had not told you") + tag("p", text) if text else EMPTY


def debrief_text(study: Study) -> str:
    if not study.consent.withheld:
        return ""
    return (
        f"We had not told you {study.consent.withheld}: knowing it could have changed your answers. If you would "
        "rather not be part of this now, withdraw: everything that you wrote is then deleted."
    )


def _return(study: Study, end: str) -> Markup:
    if study.prolific is None:
        return EMPTY
    code = getattr(study.prolific, end)
    address = f"https://app.prolific.com/submissions/complete?cc={code}"
    return tag("p", "Your completion code is ", tag("b", code), ". ", tag("a", "Back to Prolific", href=address))


def withdraw_page(study: Study, code: str = "", problem: str = "") -> str:
    """Where a code is typed to delete all that belongs to it."""
    wrong = error_line(problem) if problem else EMPTY
    what = tag("p", "This deletes your messages, ratings and answers for good. It cannot be undone.")
    box = tag("input", type="text", name="code", value=shown_code(code), required=True, autocomplete="off")
    field = tag("label", "Your code", box, class_="st-field")
    form = tag("form", field, _buttons(("Delete everything", "")), method="post", action="/withdraw")
    return _page(study, "Withdraw", what, wrong, form, tag("p", tag("a", "Back, without deleting", href="/")))


def withdrawn_page(study: Study, finished: bool = False) -> str:
    """What is said to somebody who is gone; who had finished keeps the code that they are paid by."""
    gone = tag("p", "Everything that you wrote is deleted.")
    if finished:
        return _page(
            study, "Withdrawn", gone, tag("p", "You had finished: your pay stays."), _return(study, "completed")
        )
    paid = tag("p", "If you came from Prolific, please return your submission there.") if study.prolific else EMPTY
    return _page(study, "Withdrawn", gone, paid)


def twice_page(study: Study) -> str:
    return _page(study, "You have been here", tag("p", "You have already taken part in this study. Thank you."))


# -- forms -------------------------------------------------------------------------------------------------------------


def _form(step: str, *fields: Markup, resume: bool = False) -> Markup:
    counts = _hidden("pasted", 0) + _hidden("left", 0)
    return tag("form", _hidden("step", step), counts, *fields, method="post", action="/", data_resume=resume)


def _hidden(name: str, value: str | int) -> Markup:
    return tag("input", type="hidden", name=name, value=value)


def _buttons(*buttons: tuple[str, str], second: bool = False) -> Markup:
    made = [
        tag("button", text, type="submit", name="action", value=value, class_="st-second" if place or second else None)
        for place, (text, value) in enumerate(buttons)
    ]
    return tag("div", *made, class_="st-buttons")


def _radios(name: str, question: str, choices: Mapping[str, str], chosen: str | None) -> Markup:
    options = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=value, checked=value == chosen),
            text,
            class_="st-choice",
        )
        for value, text in choices.items()
    ]
    return tag("fieldset", tag("legend", question), *options)
