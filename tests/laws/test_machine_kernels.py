"""The machine's laws over small kernels that are written as real ones are."""

import kernels
import pytest
from laws.machine_laws import LAWS

POLICIES = [
    {"policy": "round-robin"},
    {"policy": "random", "seed": 1},
    {"policy": "random", "seed": 2, "resident": 2},
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("make", kernels.KERNELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("options", POLICIES, ids=["in order", "random", "resident"])
def test_law_of_a_kernel(law, make, options):
    law(make(), options)
