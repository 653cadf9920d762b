"""What several modules here ask for by name."""

import jax
import pytest


@pytest.fixture
def loose_promotion():
    """Shipped kernels and their references mix types as plain JAX lets them."""
    with jax.numpy_dtype_promotion("standard"):
        yield
