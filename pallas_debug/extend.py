"""The public door for extensions: each adds one function (see CONTRIBUTING.md)."""

from pallas_debug.checks.check import check as check
from pallas_debug.machine.rules import rule as rule

__all__ = ["check", "rule"]
