"""A small study without waiting, its desk on a temporary disk, and people for it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from study_people import PAPER, Person, with_chat

from workbench.study.design import Study, load_study
from workbench.study.desk import Desk
from workbench.study.study_server import Assistants, StudyServer


@pytest.fixture
def study() -> Study:
    """The paper's flow with at least two exchanges, a rating after them, and no waiting."""
    return with_chat(load_study(PAPER), minimum=2, maximum=3, rate_every=2, reply_seconds=0.0)


@pytest.fixture
def desk(study: Study, tmp_path: Path) -> Desk:
    return Desk.open(study, tmp_path / "study")


@pytest.fixture
def new_person(desk: Desk) -> Callable[..., Person]:
    def person(on: Desk = desk, assistants: Assistants | None = None, token: str = "") -> Person:
        return Person(TestClient(StudyServer(on, assistants, token).app))

    return person


@pytest.fixture
def person(new_person: Callable[..., Person]) -> Person:
    return new_person()
