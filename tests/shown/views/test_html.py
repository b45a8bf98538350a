"""Texts on pages: what a browser cannot be sent is not sent."""

from workbench.views.html import styled, tag


def test_half_a_character_in_a_reply_blanks_no_page() -> None:
    shown = styled(tag("p", "a boat \ud83d", title="\ud83d\ude00"))
    assert shown.encode() and "a boat \ufffd" in shown and '"😀"' in shown
