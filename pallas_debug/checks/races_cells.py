"""Cells: the coarsest parts of a buffer such that each region is a union of them.

Two regions overlap where they have a cell in common, so that "who touched this before"
becomes a question about integers. Equal sets of regions, as every block of a grid has
them, are cut up once.
"""

from __future__ import annotations

import math

import numpy as np

from pallas_debug.trace.schema import RegionKind
from pallas_debug.trace.trace import Trace


class Cells:
    """The cells of the regions of a trace, by shape and set of regions."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[tuple[int, ...], bytes], list[np.ndarray]] = {}
        self._random = np.random.default_rng(0)

    def of(self, shape: tuple[int, ...], regions: np.ndarray) -> list[np.ndarray]:
        """For each region (sorted, distinct) the numbers of its cells."""
        key = (shape, regions.tobytes())
        if key not in self._known:
            kinds = self._trace.regions.kind[regions]
            plain = bool((kinds == RegionKind.BOX).all()) and len(shape) > 0
            spans = self._trace.regions.spans(regions, len(shape)) if plain else None
            if (
                spans is not None
                and ((spans[..., 2] == 1) | (spans[..., 1] <= 1)).all()
            ):
                self._known[key] = self._of_boxes(shape, spans)
            else:
                self._known[key] = self._of_elements(shape, regions)
        return self._known[key]

    def _of_boxes(self, shape: tuple[int, ...], spans: np.ndarray) -> list[np.ndarray]:
        """Cuts at the ends of the boxes in each dimension; joins what looks the same."""
        limits = np.array(shape, np.int64)
        first = np.clip(spans[..., 0], 0, limits)
        last = np.clip(spans[..., 0] + spans[..., 1], first, limits)
        lows, highs, sizes = [], [], []
        for dim in range(len(shape)):
            cuts = np.unique(np.concatenate([first[:, dim], last[:, dim]]))
            lows.append(np.searchsorted(cuts, first[:, dim]))
            highs.append(np.searchsorted(cuts, last[:, dim]))
            sizes.append(max(len(cuts) - 1, 1))
        numbers = np.arange(math.prod(sizes)).reshape(sizes)
        boxes = zip(
            np.stack(lows, 1).tolist(), np.stack(highs, 1).tolist(), strict=True
        )
        flats = [
            numbers[tuple(slice(a, b) for a, b in zip(low, high, strict=True))].ravel()
            for low, high in boxes
        ]
        return self._joined(flats, numbers.size)

    def _of_elements(
        self, shape: tuple[int, ...], regions: np.ndarray
    ) -> list[np.ndarray]:
        flats = [self._trace.region(int(r)).flat(shape) for r in regions]
        return self._joined(flats, math.prod(shape))

    def _joined(self, flats: list[np.ndarray], size: int) -> list[np.ndarray]:
        """Parts that belong to the same regions become one cell.

        The set of regions of a part is known by the sum of random numbers, one for each
        region: with 64 bits no two sets of a real trace have the same.
        """
        names = self._random.integers(1, 1 << 63, len(flats), np.uint64)
        signature = np.zeros(size, np.uint64)
        for flat, name in zip(flats, names, strict=True):
            flat = np.unique(flat)
            signature[flat] += name
        _, cell = np.unique(signature, return_inverse=True)
        return [np.unique(cell[flat]) for flat in flats]
