"""HTML fragments about what one reply is worth: the sum that its receipt comes to, and the receipt rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from discover_lib.base.glossary import TERMS
from discover_lib.core.conversation import Turn
from discover_lib.core.rules import Rules
from workbench.views.html import EMPTY, Markup, explained, in_tokens, quiet, signed, subscripts, tag, term
from workbench.views.html import styled as styled

_NEW = Markup("|I<sub>t+1</sub>| − |I<sub>t</sub>|")
_NEW_MEANS = "How many intents are discovered after the reply, less how many were before it."


def assembled(turn: Turn, rules: Rules) -> Markup:
    """The reward of a turn's reply as a sum: what it earned, what its length costs, and the formula of each."""
    earned = turn.candidate.reward
    if earned is None:
        return quiet("This reply is unscored, so it has no reward; that is not a reward of 0.")
    known, now_known = len(turn.before.discovered), len(turn.after.discovered)
    by_count = rules.discovery_reward == "newly_discovered"
    counted = (
        (explained(_NEW, _NEW_MEANS), f" = {now_known} − {known}")
        if by_count
        else (f"change of level = {earned.discovered:g}",)
    )
    n, above = turn.reply.n_tokens, max(0.0, turn.reply.n_tokens - rules.tau)
    capped = rules.lam * above > rules.penalty_cap
    how = f"{rules.lam:g} × {above:g}" + (f", {rules.penalty_cap:g} at most" if capped else "")
    found = "intents discovered" if by_count else "levels gained"
    parts = (
        _part(earned.discovered, found, term("discovery reward", "R_d"), " = ", *counted),
        tag("span", "+", class_="rw-sign"),
        _part(
            earned.penalty,
            f"for {above:g} tokens beyond {rules.tau:g} free ones",
            term("length penalty", "R_e"),
            f" = −min({rules.penalty_cap:g}, ",
            term("price of a token", "λ"),
            " · max(0, ",
            explained("n", f"The length of the reply: {in_tokens(n, rules.token_unit)}."),
            " − ",
            term("free tokens", "τ"),
            f")) = −{how}",
        ),
        tag("span", "=", class_="rw-sign"),
        _part(earned.total, "what the reply is worth", term("reward", "R"), subscripts(" = R_d + R_e")),
    )
    return tag("div", *parts, class_="rw-sum")


def _part(value: float, words: str, *formula: str) -> Markup:
    """One number of the sum: its value, what it is in words, and its formula."""
    sign = "costs" if value < 0 else "earns" if value > 0 else "nothing"
    number = tag("b", signed(value), class_="rw-number dl-num", data_sign=sign)
    return tag("div", number, tag("span", words), tag("span", *formula, class_="rw-formula"), class_="rw-part")


def symbols() -> Markup:
    """The letters of the receipt, each with its sentence of the glossary."""
    names = ("reward", "discovery reward", "length penalty", "price of a token", "free tokens", "near-miss weight")
    rows = (
        tag("li", tag("b", subscripts(TERMS[name].symbol)), f" {name}: {TERMS[name].meaning}")
        for name in (*names, "threshold")
    )
    return tag("ul", *rows, class_="dl-plain dl-small")


# -- a receipt, rewritten ----------------------------------------------------------------------------------------------


def rewritten(was: Markup, now: Markup) -> Markup:
    """A receipt as it is now, with what changed struck out and written anew; as it stands where nothing did.

    Rows belong together if their first cells say the same; a row that is gone is struck out as a whole.
    """
    before, after = _parsed(was), _parsed(now)
    old = {_text(row[0]): row for row in _rows(before)}
    new = {_text(row[0]): row for row in _rows(after)}
    for name, row in new.items():
        if name not in old:
            row.set("class", "rw-new")
            continue
        for place, (cell, earlier) in enumerate(zip(row, old[name], strict=False)):
            if place and _text(cell) != _text(earlier):
                _strike(cell, earlier)
    body = after.find(".//tbody")
    for name, row in old.items():
        if name not in new and body is not None:
            row.set("class", "rw-gone")
            body.append(row)
    return Markup("".join(ElementTree.tostring(child, "unicode", method="html") for child in after))


def _parsed(markup: Markup) -> Element:
    """Our own fragments are well-formed; ElementTree refuses anything else."""
    return ElementTree.fromstring(f"<div>{markup}</div>")


def _rows(root: Element) -> Iterator[Element]:
    return (row for part in ("tbody", "tfoot") for row in root.iterfind(f".//{part}/tr"))


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _strike(cell: Element, earlier: Element) -> None:
    """Put what a cell said before, struck out, in front of what it says now."""
    gone, written = Element("del"), Element("ins")
    for wrapper, source in ((gone, earlier), (written, cell)):
        wrapper.text = source.text
        wrapper.extend(list(source))
    for child in list(cell):
        cell.remove(child)
    cell.text = None
    cell.extend([gone, written])


def compared(was: Markup, now: Markup, rules_said: str) -> Markup:
    """A receipt under the rules as they are set, and a line that says which these are."""
    same = was == now
    note = EMPTY if same else quiet(f"Struck out: what it was. Now: {rules_said}.", small=True)
    return (now if same else rewritten(was, now)) + note
