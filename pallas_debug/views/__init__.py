"""Pure functions from a trace and its report to something a person can look at.

Those under `@view` make whole files; this is their explicit list.
"""

from pallas_debug.views.event_table import event_table as event_table
from pallas_debug.views.facts import facts as facts
from pallas_debug.views.github import github as github
from pallas_debug.views.host import Host as Host
from pallas_debug.views.live import has_widgets as has_widgets
from pallas_debug.views.live import viewer as viewer
from pallas_debug.views.opening import opens_at as opens_at
from pallas_debug.views.page import fragment as fragment
from pallas_debug.views.page import page as page
from pallas_debug.views.page import save_html as save_html
from pallas_debug.views.perfetto import perfetto as perfetto
from pallas_debug.views.pictures import picture as picture
from pallas_debug.views.sarif import sarif as sarif
from pallas_debug.views.shared import shared_fragment as shared_fragment
from pallas_debug.views.shared import shared_script as shared_script
from pallas_debug.views.summary_html import html_findings as html_findings
from pallas_debug.views.summary_html import html_summary as html_summary
from pallas_debug.views.text import REFUSALS as REFUSALS
from pallas_debug.views.text import findings as findings
from pallas_debug.views.text import is_refusal as is_refusal
from pallas_debug.views.text import summary as summary
from pallas_debug.views.view import SUFFIXES as SUFFIXES
from pallas_debug.views.view import VIEWS as VIEWS
from pallas_debug.views.view import View as View
from pallas_debug.views.view import view as view
from pallas_debug.views.view import view_for as view_for
from pallas_debug.views.view_state import PANELS as PANELS
from pallas_debug.views.view_state import view_state as view_state
