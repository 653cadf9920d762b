"""Errors that are no sentence become one; JAX's own sentences stand."""

import pytest

from pallas_debug.session import plain_words


@pytest.mark.parametrize("message", ["VMEM", "<MemorySpace.VMEM: 'vmem'>"])
def test_memory_space_in_either_spelling(message):
    words = plain_words.in_words("GPU interpret mode", "KeyError", message)
    assert words == (
        f"GPU interpret mode has no memory space VMEM (KeyError: {message})"
    )


@pytest.mark.parametrize("message", ["'x'", "3", "<Other.GMEM: 'gmem'>"])
def test_other_key_is_not_taken_for_a_memory_space(message):
    assert plain_words.in_words("T", "KeyError", message) == f"KeyError: {message}"


def test_space_in_another_error_is_not_explained():
    assert plain_words.in_words("T", "ValueError", "VMEM") == "ValueError: VMEM"


def test_error_without_a_message_says_so():
    words = plain_words.in_words("TPU lowering", "NotImplementedError", "")
    assert words.startswith("TPU lowering does not take this, and JAX gives no reason")
    assert "NotImplementedError: without a message" in words
