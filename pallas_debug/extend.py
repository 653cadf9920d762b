"""The public door for extensions: each adds one function (see CONTRIBUTING.md)."""

from pallas_debug.checks.check import check as check
from pallas_debug.machine.rules import rule as rule
from pallas_debug.machine.schedules import schedule as schedule
from pallas_debug.views.view import view as view

__all__ = ["check", "rule", "schedule", "view"]
