"""Figures of a trace for papers and slides: `pldb.plot.timeline(trace)`.

Each function gives a matplotlib figure; a notebook shows it, `savefig` writes it.
"""

from pallas_debug.views.plot import buffer as buffer
from pallas_debug.views.plot import grid as grid
from pallas_debug.views.plot import memory as memory
from pallas_debug.views.plot import timeline as timeline
