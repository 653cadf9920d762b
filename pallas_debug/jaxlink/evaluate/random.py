"""Counter-based random numbers, and typed keys as the raw words behind them.

A value whose aval has a key dtype is an array of `uint32` words with the key's own
dimensions last. Everything that interprets such words goes to XLA (`exact`).
"""

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate.kinds import Rule, same

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def _rotate(x, by: int):
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def threefry2x32(key0, key1, x0, x1):
    """Twenty rounds of Threefry on pairs of 32-bit words."""
    keys = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for i in range(5):
        for by in _ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = _rotate(x1, by) ^ x0
        x0 = x0 + keys[(i + 1) % 3]
        x1 = x1 + keys[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


_THREEFRY = Pure(
    expr="threefry({0}, {1}, {2}, {3})", env={"threefry": threefry2x32}, results=2
)

RULES: dict[str, Rule] = {
    "threefry2x32": lambda params, in_avals, out_avals: _THREEFRY,
    "random_wrap": same("{0}"),
    "random_unwrap": same("{0}"),
}
