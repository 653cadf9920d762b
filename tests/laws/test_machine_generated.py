"""The machine's laws over generated tapes, right and wrong ones, under any schedule."""

import pytest
from hypothesis import HealthCheck, given, settings
from laws.generated import LAUNCHES, POLICIES
from laws.machine_laws import LAWS


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@given(launch=LAUNCHES, options=POLICIES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_law_of_a_generated_tape(law, launch, options):
    law(launch, options)
