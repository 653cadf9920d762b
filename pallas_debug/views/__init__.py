"""Pure functions from a trace and its report to something a person can look at."""

from pallas_debug.views.facts import facts as facts
from pallas_debug.views.summary_html import html_summary as html_summary
from pallas_debug.views.text import REFUSALS as REFUSALS
from pallas_debug.views.text import findings as findings
from pallas_debug.views.text import is_refusal as is_refusal
from pallas_debug.views.text import summary as summary
