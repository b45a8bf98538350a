"""Words of a text: the one tokenisation that the lexicon, the voice and the leak check share.

It knows the letters a to z alone; `reads` says of which texts that is enough.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_NEGATORS = frozenset({"no", "not", "without", "never", "avoid", "drop", "remove", "isn't", "don't"})
_ARTICLES = frozenset({"a", "an", "the", "any"})

# Words that carry no requirement of their own: grammar, and the vocabulary of hesitation and assent that any
# user needs ("something feels off", "keep it like that").  A lexicon's requirement texts avoid the latter.
STOP_WORDS = frozenset(
    """a about above after again all almost along also am an and any anything are around as at away back be because
    been before being below between bit both but by can can't cannot could did didn't do does doesn't doing don't done
    down each either else even ever every everything few for from further get gets getting give given go goes going
    good got great had has have having he her here hers him his how i i'd i'll i'm i've if in into instead is isn't it
    it's its itself just keep kind kinda let like liked likes little look looks lot made make makes making many may
    maybe me mean might mind missing more most much must my near need needs new nice no none nor not nothing now of
    off ok okay on once one ones only onto or other others our out over own part perhaps place please put quite rather
    really right said same say see seem seems shall she should show shows so some somehow something somewhat sort
    still such sure take takes than that that's the their them then there there's these they thing things think this
    those through to together too toward towards true try two under until up upon us use used uses using very via
    want wants was way we well were what what's when where which while who whole whose why will with within without
    would yes yet you you're your yours feel feels different differently exactly quality certain change changed clear
    closer option options direction idea work works fine perfect love thanks thank tell don doesnt dont im cant pick
    picked else's wrong says know""".split()
)


def words(text: str) -> list[str]:
    """Lower-case words of `text`, in order; a hyphen separates, an apostrophe does not."""
    return _WORD.findall(text.lower().replace("’", "'"))


@lru_cache(maxsize=4096)
def reads(text: str) -> bool:
    """Whether `words` sees a text: at least half of its letters are a to z.  A text without letters is readable.

    >>> reads("a retired harbour pilot"), reads("бывший лоцман"), reads("退役的引航员"), reads("!?")
    (True, False, False, True)
    """
    letters = [] if text.isascii() else [sign for sign in text.lower() if sign.isalpha()]
    return 2 * sum("a" <= sign <= "z" for sign in letters) >= len(letters)


def denies(before: Sequence[str]) -> bool:
    """Whether the words before a phrase deny it: "no", "without a", "not"; but not "why not a"."""
    before_it = [word for word in before[-4:] if word not in _ARTICLES]
    return bool(before_it) and before_it[-1] in _NEGATORS and before_it[-2:-1] != ["why"]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A light stem that joins singular and plural, and possessives: ``tones → tone``, ``boat's → boat``."""
    word = word.split("'")[0]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=1024)  # whole texts of kilobytes each, of the running conversations
def content_words(text: str) -> frozenset[str]:
    """Stems of the words in `text` that are not stop words."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 tree``, ``1,200 trees``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
