"""A small conversation with every kind of change in it, hostile texts, and a parser that checks markup."""

from html.parser import HTMLParser

from scripted import ScriptedJudge, told_tree

from discover_lib import Conversation, Evaluation, IntentTree, Message, Reply, UserSimulator, UserView, Verdict

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><circle cx="5" cy="5" r="4"/></svg>'


HOSTILE = (
    "</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 1'>",
    '"><svg onload="window.pwned = 1">', "<!-- {{title}} -->",
)  # fmt: skip


HOSTILE_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="window.pwned = 1">'
    '<script>window.pwned = 1</script><image href="https://example.com/x.png"/><rect width="9" height="9"/></svg>'
)


TREE = told_tree(
    {"1": "A harbour", "1.1": "A boat", "1.1.1": "A red boat", "1.1.2": "A boat with two masts", "2": "Warm light"},
    "1", "SVG drawing", "draw a harbour",
)  # fmt: skip


class OneLineVoice:
    def __init__(self, line: str) -> None:
        self.line = line

    def speak(self, view: UserView, messages: tuple[Message, ...], seed: int) -> str:
        return self.line


def conversation(
    texts: tuple[str, str] = ("first", "second"), said: str = "hmm", tree: IntentTree = TREE
) -> Conversation:
    """Two turns that hold every kind of change: direct, emerging, a worn threshold, a late satisfaction, a penalty."""
    evaluations = {
        texts[0]: Evaluation(
            "dialogue_act",
            [Verdict("1", True, reason=said), Verdict("1.1", True), Verdict("1.1.1", False, ("a", "b", "c"))],
        ),
        texts[1]: Evaluation(
            "artifact",
            [Verdict("1", True), Verdict("1.1", True), Verdict("1.1.1", True), Verdict("1.1.2", False, ("x",))],
        ),
    }
    simulator = UserSimulator(
        tree, ScriptedJudge(evaluations), OneLineVoice(said), thresholds={"1.1.1": 0.4, "1.1.2": 0.9},
        setting={"engine": "miniature", "assistants": ["adaptive"]},
    )  # fmt: skip
    simulator.step([Reply(texts[0], 10, "test", "adaptive"), Reply(texts[0], 40, "test", "other")])
    simulator.step(Reply(texts[1], 385, "test", "adaptive"), speak=False)
    return simulator.conversation


class Tags(HTMLParser):
    """Collects start tags and their attributes, and checks that elements nest."""

    VOID = frozenset({"img", "br", "input", "meta"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
