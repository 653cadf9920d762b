"""While a kernel is traced, answers its questions about the device for a chosen chip.

Kernels ask how many cores there are, of which kind and for which CUDA; a CPU has no
answer. Only kernel code hears ours: JAX's own machinery (meshes, placement, compilation)
goes on seeing the real device, so that arrays live and move as ever. Which platform it
is, only a chosen chip says, and only to code outside JAX: libraries take another way on
a CPU, and some refuse it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax

from pallas_debug.ir import chips
from pallas_debug.jaxlink import backward, grids, privates, tpu_only

# A toolkit without the known miscompilations that shipped kernels step around.
CUDA_VERSION = 13000

SHARED_MEMORY = "shared_memory_per_block_optin"
OF_A_GPU = ("core_count", "compute_capability", SHARED_MEMORY)

_MACHINERY = ("jax._src.", "jaxlib.")
_JAX = ("jax.", "jaxlib.")
_KERNEL_CODE = ("jax._src.pallas.", "jax._src.tpu_info")


@dataclass(frozen=True, kw_only=True)
class _Answers:
    chip: chips.Chip | None
    cores: int | None

    def get(self, question: str, asker: str) -> Any:
        if question == "platform":
            return self.platform(asker)
        chip = self.chip or _likely_chip(question, asker)
        if chip is None:
            return None
        if question in ("core_count", "num_cores"):
            return self.cores or chip.core_count
        if question == SHARED_MEMORY:
            return chip.smem_bytes if chip.backend == "gpu" else None
        return getattr(chip, question)

    def platform(self, asker: str) -> str | None:
        return self.chip.backend if self.chip and not asker.startswith(_JAX) else None


def _likely_chip(question: str, asker: str) -> chips.Chip | None:
    """The chip that an asker without a choice seems to have in mind."""
    if question in OF_A_GPU or _mentions(asker, "gpu", "triton"):
        return chips.chip(chips.DEFAULT["gpu"])
    if question == "num_cores" or _mentions(asker, "tpu", "mosaic"):
        return chips.chip(chips.DEFAULT["tpu"])
    return None


def _mentions(module: str, *words: str) -> bool:
    return any(word in module for word in words)


# Thread-local, and part of every cache key of jit: what was traced for one chip is not
# reused for another.
_answers = privates.ConfigState(
    "pallas_debug_chip",
    None,
    "The chip that answers questions about the device.",
    include_in_jit_key=True,
    include_in_trace_context=True,
)
_lock = threading.RLock()
_users = 0
_undo = contextlib.ExitStack()


class _Thread(threading.local):
    """What a thread waits with: replacing JAX's questions, until somebody may ask."""

    waiting: contextlib.ExitStack | None = None


_thread = _Thread()


@contextlib.contextmanager
def pretend(
    chip: str | chips.Chip | None = None,
    cores: int | None = None,
    *,
    waits: bool = False,
) -> Iterator[None]:
    """Answers this thread's questions about the device for `chip`.

    Args:
      chip: A name from `ir.chips.CHIPS`, or a chip of your own. None answers each
        question for the default chip of the backend that it is typical of.
      cores: How many cores it has, if fewer are to be simulated.
      waits: Whether nobody asks before `may_ask` is called.
    """
    if isinstance(chip, str):
        chip = chips.chip(chip)
    before = _thread.waiting
    with contextlib.ExitStack() as stack:
        _thread.waiting = stack
        if not waits:
            may_ask()
        try:
            with _answers(_Answers(chip=chip, cores=cores)):
                yield
        finally:
            _thread.waiting = before


def platform() -> str | None:
    """`gpu` or `tpu`, of the chip that was chosen; None if none was."""
    answers = _answers.value
    return answers.chip.backend if answers and answers.chip else None


def may_ask() -> None:
    """From here on code may run that asks, until the innermost `pretend` ends."""
    stack, _thread.waiting = _thread.waiting, None
    if stack is not None:
        _install()
        stack.callback(_uninstall)


def _install() -> None:
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _replace_questions(privates.xla_client.Device)
            _replace_questions(privates.mesh.AbstractDevice)
            _replace_cuda_versions()
            _replace_default_backend()
            _undo.enter_context(backward.own_lines())
            _undo.enter_context(grids.named_refusals())


def _uninstall() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            _undo.close()


def _replace_questions(device_class: type) -> None:
    for question in ("device_kind", "platform", "num_cores", *OF_A_GPU):
        original = vars(device_class).get(question)
        if original is None:
            _undo.callback(delattr, device_class, question)
        else:
            _undo.callback(setattr, device_class, question, original)
        setattr(device_class, question, _question(question, original))


def _question(question: str, original: Any) -> property:
    def answer(device: Any) -> Any:
        answers = _answers.value
        asker = sys._getframe(1).f_globals.get("__name__") or ""
        if answers is not None and _is_kernel_code(asker):
            tpu_only.refuse(answers.chip, question, sys._getframe(1))
            value = answers.get(question, asker)
            if value is not None:
                return value
        if original is None:
            # Python goes on to the class's own `__getattr__`.
            raise AttributeError(question)
        return original.__get__(device)

    # `AbstractDevice` is a dataclass with slots: its constructor stores through this.
    return property(answer, getattr(original, "__set__", None))


def _is_kernel_code(module: str) -> bool:
    return module.startswith(_KERNEL_CODE) or not module.startswith(_MACHINERY)


def _replace_cuda_versions() -> None:
    """Where CUDA is missing, modules hold None under this name."""
    ours = types.SimpleNamespace(
        cuda_runtime_get_version=lambda: CUDA_VERSION,
        cuda_driver_get_version=lambda: CUDA_VERSION,
    )
    _swap_everywhere("cuda_versions", None, ours)
    # Also in modules that were first imported meanwhile.
    _undo.callback(_swap_everywhere, "cuda_versions", ours, None)


def _replace_default_backend() -> None:
    real = jax.default_backend

    def default_backend() -> str:
        answers = _answers.value
        asker = sys._getframe(1).f_globals.get("__name__") or ""
        return (answers and answers.platform(asker)) or real()

    _swap_everywhere("default_backend", real, default_backend)
    _undo.callback(_swap_everywhere, "default_backend", default_backend, real)


def _swap_everywhere(name: str, old: Any, new: Any) -> None:
    for namespace in _holders(name, len(sys.modules)):
        if namespace.get(name, new) is old:
            namespace[name] = new


@functools.lru_cache(maxsize=2)
def _holders(name: str, count: int) -> tuple[dict[str, Any], ...]:
    """Namespaces of the modules that know `name`; `count` says when to look again."""
    spaces = [getattr(m, "__dict__", {}) for m in list(sys.modules.values())]
    return tuple(space for space in spaces if name in space)
