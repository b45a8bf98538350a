"""The palettes that a picture is painted from, and what the hour of the day does to them.

A palette is twelve paints that look good together.  `tones` mixes from them the paint of every role that figures and
landscapes leave open, so that a night, a dusk and a noon of the same palette belong to one hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from discover_lib.engines.miniature.svg.colour import mix

Hour = Literal["", "day", "low", "night"]


@dataclass(frozen=True)
class Palette:
    """Paints by the part that they play."""

    sky: str  # by day
    glow: str  # low over the horizon while the sun is low
    dusk: str  # high above it
    night: str
    far: str
    mid: str
    near: str
    water: str
    main: str  # of what the picture is about
    accent: str
    pale: str
    ink: str


def _palette(paints: str) -> Palette:
    return Palette(*(f"#{paint}" for paint in paints.split()))


# In the order of `Palette`: sky, glow, dusk, night, far, mid, near, water, main, accent, pale, ink.
PALETTES: dict[str, Palette] = {
    "autumn": _palette("fbe4cd f5ac62 c05c38 3c2318 e8b78a cf8440 a05a2c c9946a c4481c e99a3a fff5e8 38211a"),
    "coral": _palette("fde2da fba895 b9536f 4a1832 f3b5a9 e38a84 b0506a dd9a97 dd3f46 ffb59a fff3ee 45182b"),
    "honey": _palette("fff1c2 ffd35c e2a02c 46330f f4d87f e3b83f b8921f dcc67a ec9a12 fbd73c fffbea 433012"),
    "ocean": _palette("d8f0ee a9dcd4 2f7e92 0b2c42 93cfd0 4fa5b0 21707f 358fa3 0f4c6b 57c7c0 f1fbf9 0b2a3a"),
    "winter": _palette("e4eefa c6d9f2 7d99c9 1a2a50 bccfe9 92aed8 6485b8 86a8d6 35588f 8db4ea fafcff 1d2c4d"),
    "forest": _palette("ddeec8 cde39c 5c8f74 0f3028 adcba0 74a86d 3d7548 74a98f 1d5b3a 9bc64a f3fae4 132f26"),
    "heather": _palette("ebe4f8 dcc9f1 8a70b8 231946 c6b6e6 a08ad0 6e5aa4 a296d8 523a94 b983d6 faf6ff 281c4c"),
    "sepia": _palette("efe8dc dcd2c1 a4957f 342c24 d6cab6 b6a68c 8a7b66 c6b9a3 5c4c3d a28d70 faf7f0 2d261f"),
    "black-and-white": _palette("f3f3f2 dededd 929294 1c1c1f d3d3d2 ababab 7a7a7c c0c0c1 2e2e31 8c8c8e ffffff 151517"),
    "primary": _palette("ffd94f ffb52e ee5142 7a1533 7fb4ec 3f86d6 2358b0 3a83d8 e02f3a ffffff fffdf4 14254f"),
    "candy": _palette("ffc9dd ffd9a8 f78fb8 7d2458 c4ecdf 96dfc6 5fc4a8 a0e3dc f4568f ffe273 fffafc 24505a"),
}
# What nobody has chosen colours for: tints too faint to count as colours.
UNCOLOURED = _palette("e8ece8 e6e0d6 b0aebb 404348 cdd3cb b1b8ac 92998b b9c4c9 776a63 b9a996 f8f6f1 3a3d44")

SPOTS = {
    "warm-with-teal": "#128a8c",
    "warm-with-blue": "#2456a6",
    "cool-with-red": "#d93a2f",
    "cool-with-yellow": "#f2b51c",
    "quiet-with-red": "#c8372d",
    "quiet-with-gold": "#dba11c",
}
SPOTTED = {
    "warm": "autumn",
    "cool": "ocean",
    "quiet": "sepia",
}  # what a spot stands out from where nothing else is said


@lru_cache(maxsize=512)
def tones(palette: str, hour: Hour, spot: str) -> Mapping[str, str]:
    """Role → paint.

    Figures: m main, d deeper, l lighter, a accent, e deeper accent, w palest, k ink, g glass, y lamp.  Landscapes: f
    far, i middle, n near, u water, s sand, t trees, o roofs, p palest, h the palette's own main paint, q other ground.
    Above and behind: top and low of the sky, z sun or moon, c clouds, tint and night of paper.
    """
    own = PALETTES.get(palette or SPOTTED.get(spot.partition("-")[0], ""), UNCOLOURED)
    main = SPOTS.get(spot, own.main)
    layers = {
        "f": own.far,
        "i": own.mid,
        "n": own.near,
        "u": own.water,
        "s": mix(own.glow, own.far, 0.5),
        "t": mix(own.near, own.ink, 0.42),
        "o": mix(own.main, own.mid, 0.3),
        "p": own.pale,
    }
    figure = {
        "m": main,
        "d": mix(main, own.ink, 0.34),
        "l": mix(main, own.pale, 0.52),
        "a": own.accent,
        "e": mix(own.accent, own.ink, 0.3),
        "w": own.pale,
        "k": own.ink,
        "g": mix(own.night, own.far, 0.45),
        "h": own.main,
        "q": own.sky if palette in ("primary", "candy") else mix(own.far, own.mid, 0.5),
        "night": own.night,
        "tint": own.sky,
        "y": mix(own.pale, own.accent, 0.45),
    }
    if hour == "night":
        layers = {role: mix(paint, own.ink, 0.55 if role != "p" else 0.25) for role, paint in layers.items()}
        figure |= {role: mix(figure[role], own.pale, 0.16) for role in "mdlae"}
    elif hour == "low":
        layers = {role: mix(paint, own.dusk, 0.24) for role, paint in layers.items()}
    haze = mix(own.pale, own.sky, 0.55)
    top, low, sun, clouds = {
        "night": (own.night, mix(own.night, own.dusk, 0.4), own.pale, mix(own.night, own.dusk, 0.7)),
        "low": (own.dusk, own.glow, mix(own.pale, own.glow, 0.25), mix(own.dusk, own.glow, 0.55)),
        "day": (own.sky, mix(own.sky, own.pale, 0.7), mix(own.accent, own.glow, 0.35), own.pale),
        "": (haze, haze, own.glow, mix(own.pale, own.sky, 0.5)),
    }[hour]
    return layers | figure | {"top": top, "low": low, "z": sun, "c": clouds}
