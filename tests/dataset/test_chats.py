"""Chats from elsewhere: the user's messages of every form, and one line about what is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.chats import read_chats


def node(parent: str | None, role: str, text: str) -> dict[str, Any]:
    return {"parent": parent, "message": {"author": {"role": role}, "content": {"parts": [text]}}}


OPENAI = {
    "current_node": "d",
    "mapping": {
        "r": {"parent": None, "message": None},
        "a": node("r", "user", "an owl"),
        "b": node("a", "assistant", "here"),
        "c": node("b", "user", "left behind"),
        "d": node("b", "user", "warmer"),
    },
}
FORMS = {
    "sharegpt.json": [{"conversations": [{"from": "human", "value": "an owl"}, {"from": "gpt", "value": "here"}]}],
    "openai.json": [OPENAI],
    "claude.json": [{"chat_messages": [{"sender": "human", "text": "an owl"}, {"sender": "assistant", "text": "x"}]}],
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sharegpt.json", [["an owl"]]), ("openai.json", [["an owl", "warmer"]]), ("claude.json", [["an owl"]])],
)
def test_exports_are_read(tmp_path: Path, name: str, expected: list[list[str]]) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(FORMS[name]), "utf-8")
    assert read_chats(path) == expected


def test_lines_of_conversations_or_messages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wildchat.jsonl"
    lines = [
        {
            "conversation": [{"role": "user", "content": "an owl"}, {"role": "assistant", "content": "x"}],
            "toxic": False,
        },
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a boat"}]},
        {"conversation": []},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    assert read_chats(path) == [["an owl"], ["a boat"]]


def test_a_study_s_own_messages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "messages.csv"
    rows = ["participant,place,turn,role,text,seconds", "p-1,1,1,user,an owl,0", "p-1,1,1,assistant,here,1"]
    path.write_text("\n".join([*rows, "p-1,1,2,user,'- warmer,2", "p-2,1,1,user,a boat,0"]), "utf-8")
    assert read_chats(path) == [["an owl", "- warmer"], ["a boat"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("a.json", text) for text in ("[]", "{}", "[{}, 2]", '[{"messages": 7}]', "no json", "[" * 100_000)),
        ("a.json", '[{"mapping": {}}]'),
        ("a.jsonl", '{"messages": []}\n\n{"mess'),
        ("a.csv", "participant,text\np-1,an owl\n"),
    ],
)
def test_what_holds_no_chat_is_one_plain_error(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DiscoverError, match=r"^[^\n]*a\.\w+: no (file of chats|chat found); ShareGPT"):
        read_chats(path)
