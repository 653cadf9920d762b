"""What a target said when it stopped a kernel, where its own words are no sentence.

JAX raises some errors for itself only: the name of a memory space, or nothing at all.
What is said here is what can be read off such an error; a sentence of JAX's own stands.
"""

from __future__ import annotations

import re

# JAX's names of memory spaces, as a `KeyError` has them.
SPACE = re.compile(
    r"^(?:<MemorySpace\.(\w+): .*>|(ANY|HBM|VMEM|SMEM|CMEM|SEMAPHORE|GMEM|TMEM|REGS))$"
)
# Where kernels of a backend belong.
AT_HOME = {
    "mosaic_gpu": "it is written for a GPU: see GPU interpret mode and CUDA lowering",
    "triton": "it is written for a GPU: see interpret=True and CUDA lowering",
    "tpu": "it is written for a TPU: see TPU interpret mode and TPU lowering",
}


def raised(exception: str, message: str) -> str:
    """`KeyError: VMEM`; what has no message says so."""
    return f"{exception}: {message or 'without a message'}"


def in_words(target: str, exception: str, message: str) -> str:
    """Why a target stopped, with what it raised."""
    said = raised(exception, message)
    space = SPACE.match(message) if exception == "KeyError" else None
    if space:
        return f"{target} has no memory space {space[1] or space[2]} ({said})"
    if not message:
        return f"{target} does not take this, and JAX gives no reason ({said})"
    return said
