"""What a live page may ask for; a page without a kernel asks for nothing.

The messages are the ones of DESIGN's live host: memory, payload, variables, evaluate,
continue, origin, divert, interleave, replay, more, state, and bundle. A host answers with plain data, and with bytes where the answer is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Answer = Mapping[str, Any] | tuple[Mapping[str, Any], list[bytes]]


class Host(Protocol):
    """Answers a viewer's requests."""

    def request(self, kind: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer to one request.

        Raises:
          PallasDebugError: The request cannot be answered; the viewer shows why.
        """
        ...
