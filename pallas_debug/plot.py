"""Figures of a trace for papers and slides: `pldb.plot.timeline(trace)`.

Each function gives a matplotlib figure; a notebook shows it, `savefig` writes it.
`overview` has the grid, a buffer and the threads at one moment in one figure;
`animation` gives the bytes of a GIF of the whole launch.
"""

from pallas_debug.views.plot import animation as animation
from pallas_debug.views.plot import buffer as buffer
from pallas_debug.views.plot import grid as grid
from pallas_debug.views.plot import memory as memory
from pallas_debug.views.plot import overview as overview
from pallas_debug.views.plot import timeline as timeline
