"""Randomness per unit of work: a seed derived from names never depends on order, concurrency or resume."""

import hashlib
import random
from functools import lru_cache


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed for the unit of work named by `parts`, e.g. ``derive_seed(run_seed, artifact_id, trial, turn)``."""
    name = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "big") >> 1


@lru_cache(maxsize=65536)  # every assistant meets the same users
def unit_uniform(*parts: int | str) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    return (derive_seed(*parts) >> 10) / 2**53  # 53 bits, which a float holds exactly, so never 1.0


def derive_rng(*parts: int | str) -> random.Random:
    """A separate generator for the unit of work named by `parts`."""
    return random.Random(derive_seed(*parts))
