"""Figures of a trace for papers and slides, without a viewer: `pldb.plot`.

Each function gives a matplotlib `Figure` that a notebook shows and `savefig` writes;
`animation` gives the bytes of a GIF. The
horizontal axis of time counts events, never seconds: a simulator knows no others.
"""

from pallas_debug.views.plot.alive import memory as memory
from pallas_debug.views.plot.animation import animation as animation
from pallas_debug.views.plot.blocks import grid as grid
from pallas_debug.views.plot.cells import buffer as buffer
from pallas_debug.views.plot.lanes import timeline as timeline
from pallas_debug.views.plot.moment import overview as overview
