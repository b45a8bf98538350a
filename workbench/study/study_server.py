"""The study's web server: one page per step, one form per page. Each answer is on disk before it is confirmed.

The pages work without a script. The script retries after a lost connection. The pages never show the assistant's name,
and replies of all assistants appear after the same time.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Reply
from discover_lib.engines.spec import EngineSpec, RoleEngines, asked_assistants
from workbench.lessons.classroom import form_of
from workbench.study import study_pages as pages
from workbench.study.design import Study
from workbench.study.desk import Desk, Progress
from workbench.study.study_pages import PersonalData, personal_data

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

COOKIE, MAX_FORM = "study", 200_000  # bytes
COOKIE_SECONDS = 14 * 24 * 3600
WRONG_SECONDS = 0.5  # delay after a wrong code
Form = dict[str, str]


class Assistants:
    """The assistants of the conditions. Language models have one client per participant, with its budget."""

    def __init__(self, study: Study, settings: ClientSettings | None = None) -> None:
        self.study, self.settings = study, settings
        self.models = set(asked_assistants(study.assistants))
        self._clients: dict[str, Any] = {}

    def reply(self, code: str, standing: Progress) -> tuple[Reply, float]:
        """The next reply, and its cost in dollars.

        Raises:
            AssistantError: the assistant failed.
        """
        study, task = standing.study, standing.study.tasks[standing.task]
        name = study.conditions[standing.condition].assistant
        client = self._client(code, standing) if name in self.models else None
        assistant = RoleEngines(EngineSpec(), client).assistant(name, task.domain)
        seed = derive_seed(study.seed, standing.slot or 0, 1, "turn", standing.answered + 1)
        before = client.spent.cost if client else 0.0
        reply = assistant.reply(standing.messages, seed)  # type: ignore[union-attr]
        return reply, (client.spent.cost - before) if client else 0.0

    def _client(self, code: str, progress: Progress) -> Any:
        if code not in self._clients:
            from discover_lib.engines.llm.calls.client import Budget, LLMClient

            dollars = self.study.chat.budget_dollars
            budget = None if dollars is None else Budget(dollars, spent=min(dollars, progress.cost))
            self._clients[code] = LLMClient(self.settings, budget=budget)
        return self._clients[code]

    def forget(self, code: str) -> None:
        if (client := self._clients.pop(code, None)) is not None:
            client.close()


class StudyServer:
    """The application.

    Args:
        token: the first visit needs this token in the address, unless the server is local.
    """

    def __init__(self, desk: Desk, assistants: Assistants | None = None, token: str = "") -> None:
        self.desk, self.study, self.token = desk, desk.study, token
        self.assistants = assistants or Assistants(desk.study)
        self._busy: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wrong = asyncio.Lock()
        self.app = Starlette(
            routes=[
                Route("/", self.page, methods=["GET"]),
                Route("/", self.take, methods=["POST"]),
                Route("/withdraw", self.withdraw, methods=["GET", "POST"]),
            ]
        )

    # -- requests ------------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        query = request.query_params
        outside, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
        code = request.cookies.get(COOKIE, "")
        if not outside and self.desk.progress(code) is not None:
            return self._shown(code)
        if self.token and not hmac.compare_digest(query.get("token", "").encode(), self.token.encode()):
            return PlainTextResponse("Please open this study with the link that we sent you.", 403)
        arrived = self.desk.arrive(outside, session)
        if arrived is None:
            return HTMLResponse(pages.study_page(self.study, "twice"), 403)
        response = RedirectResponse("/", 303)
        response.set_cookie(COOKIE, arrived, max_age=COOKIE_SECONDS, httponly=True, samesite="lax")
        return response

    async def take(self, request: Request) -> Response:
        """Take a form. A form of another step than the present one was sent twice, and is ignored."""
        code = request.cookies.get(COOKIE, "")
        form = await form_of(request, MAX_FORM)
        if form is None:
            return PlainTextResponse("Your text is too long.", 413)
        if self.desk.progress(code) is None:
            return RedirectResponse("/", 303)
        async with self._busy[code]:
            progress = self.desk.progress(code)
            if progress is None or form.get("step") != progress.step:
                return RedirectResponse("/", 303)
            act: Callable[..., Any] = getattr(self, f"_{progress.step}")
            answer = act(code, progress, form)
            answer = await answer if asyncio.iscoroutine(answer) else answer
        return answer or RedirectResponse("/", 303)

    async def withdraw(self, request: Request) -> Response:
        code = request.cookies.get(COOKIE, "")
        if request.method == "GET":
            known = self.desk.progress(code) is not None
            return HTMLResponse(pages.study_page(self.study, "withdraw", typed=code if known else ""))
        form = await form_of(request, MAX_FORM) or {}
        typed = form.get("code", "").replace("-", "").replace(" ", "").upper()
        async with self._busy[typed]:
            before = self.desk.progress(typed)
            gone = self.desk.withdraw(typed)
        self._busy.pop(typed, None)
        if not gone:
            async with self._wrong:
                await asyncio.sleep(WRONG_SECONDS)
            problem = "This code does not exist. Please check it."
            return HTMLResponse(pages.study_page(self.study, "withdraw", problem=problem), 404)
        self.assistants.forget(typed)
        finished = before is not None and before.closed == "done"
        response = HTMLResponse(pages.study_page(self.study, "withdrawn", finished=finished))
        response.delete_cookie(COOKIE)
        return response

    def _shown(
        self, code: str, problem: str = "", values: Form | None = None, personal: Sequence[PersonalData] = ()
    ) -> HTMLResponse:
        """The page of a participant's present step."""
        progress = self.desk.progress(code)
        assert progress is not None
        if progress.step == "task" and progress.slot is None:
            progress = self.desk.assign(code)
        told = {"progress": progress, "values": values or {}, "personal": personal}
        page = pages.study_page(self.study, progress.step, code, problem, **told)
        return HTMLResponse(page, headers={"Cache-Control": "no-store"})

    # -- steps: each stores a form, or shows the page again ----------------------------------------------

    def _consent(self, code: str, progress: Progress, form: Form) -> Response | None:
        if form.get("action") == "no":
            self.desk.add(code, "closed", why="no_consent")
            self.desk.forget_identity(code)
        elif form.get("agreed") != "1":
            return self._shown(code, problem="Please tick the box if you agree, or press “I do not agree”.")
        else:
            self.desk.add(code, "consent", version=self.study.version)
        return None

    def _eligibility(self, code: str, progress: Progress, form: Form) -> Response | None:
        questions = self.study.eligibility
        answers = {each.id: form[each.id] for each in questions if form.get(each.id) in each.answers}
        if len(answers) < len(questions):
            return self._shown(code, problem="Please answer every question.", values=form)
        self.desk.add(code, "eligibility", answers=answers)
        if not all(answers[each.id] in each.admitted for each in questions):
            self.desk.add(code, "closed", why="screened_out")
        return None

    def _task(self, code: str, progress: Progress, form: Form) -> Response | None:
        if form.get("topic") not in self.study.tasks[progress.task].topics:
            return self._shown(code, problem="Please choose a topic.")
        self.desk.add(code, "topic", topic=form["topic"])
        return None

    async def _chat(self, code: str, progress: Progress, form: Form) -> Response | None:
        watched = {"pasted": _count(form.get("pasted")), "left": _count(form.get("left"))}
        if form.get("action") == "finish":
            if (progress.minimum_reached or progress.at_limit) and not progress.pending:
                self.desk.add(code, "finished", **watched)
            return None
        if form.get("action") != "resume" and not progress.pending:
            text = form.get("text", "").strip()
            if form.get("n") != str(len(progress.exchanges)) or progress.at_limit:
                return None  # the form was sent twice
            if not text:
                return self._shown(code, problem="Please write a message.")
            looks = personal_data(text)
            if looks and form.get("confirmed") != "1":
                return self._shown(code, values=form, personal=looks)
            progress = self.desk.add(code, "said", text=text, personal=[each.kind for each in looks], **watched)
        if progress.pending:
            await self._reply(code, progress)
        return None

    async def _reply(self, code: str, progress: Progress) -> None:
        """Get the reply to the pending message. A failure is stored, and the participant can try again."""
        pending = progress.pending
        assert pending is not None
        began = time.monotonic()
        try:
            reply, cost = await run_in_threadpool(self.assistants.reply, code, progress)
        except Exception as error:  # any failure shows an apology, and the participant can try again
            kind = getattr(error.__cause__, "kind", type(error).__name__)
            self.desk.add(code, "spent" if kind == "budget" else "failed", error=kind, message=str(error))
            return
        seconds = time.monotonic() - began
        await asyncio.sleep(max(0.0, pending.said["at"] + self.study.chat.reply_seconds - self.desk.clock()))
        late = seconds > self.study.chat.reply_seconds > 0
        what = {"text": reply.text, "tokens": reply.n_tokens, "cost": cost}
        notation = {"notation": reply.notation} if reply.notation else {}
        self.desk.add(code, "replied", seconds=round(seconds, 3), late=late, **what, **notation)

    def _rating(self, code: str, progress: Progress, form: Form) -> Response | None:
        value = _rated(form.get("rating"), self.study.rating.points)
        if value is False:
            return self._shown(code, problem="Please choose a number or “I would rather not say”.")
        self.desk.add(code, "rated", after=progress.answered, value=value)
        return None

    def _final(self, code: str, progress: Progress, form: Form) -> Response | None:
        final = self.study.final
        ratings = {name: _rated(form.get(name), scale.points) for name, scale in final.scales.items()}
        texts = {name: form.get(name, "").strip() for name in final.texts}
        if any(value is False for value in ratings.values()):
            return self._shown(
                code, problem="Please choose a number on every scale, or “I would rather not say”.", values=form
            )
        for name, wanted in final.texts.items():
            if len(texts[name]) < wanted.minimum:
                problem = f"“{wanted.question}” Please write at least {wanted.minimum} characters."
                problem += f" You have {len(texts[name])}."
                return self._shown(code, problem=problem, values=form)
        looks = personal_data("\n".join(texts.values()))
        if looks and form.get("confirmed") != "1":
            return self._shown(code, values=form, personal=looks)
        watched = {"pasted": _count(form.get("pasted")), "left": _count(form.get("left"))}
        self.desk.add(code, "final", ratings=ratings, texts=texts, **watched)
        self.desk.add(code, "closed", why="done")
        self.assistants.forget(code)
        return None


def _rated(value: str | None, points: int) -> int | bool | None:
    """A rating. None if the participant would rather not say, False if it is missing."""
    if value == pages.UNSAID:
        return None
    return int(value) if value and value.isdecimal() and 1 <= int(value) <= points else False


def _count(value: str | None) -> int:
    return min(int(value), 10_000) if value and value.isdecimal() else 0
