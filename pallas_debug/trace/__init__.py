"""The trace: schema, writer, reader, queries. Facts only; the source of truth.

Import it as `from pallas_debug.trace import Trace`: the name `pallas_debug.trace` as an
attribute is the public verb.
"""

from pallas_debug.trace.close import close as close
from pallas_debug.trace.columns import Columns as Columns
from pallas_debug.trace.events import Event as Event
from pallas_debug.trace.events import Events as Events
from pallas_debug.trace.file import dumps as dumps
from pallas_debug.trace.file import load as load
from pallas_debug.trace.file import loads as loads
from pallas_debug.trace.file import save as save
from pallas_debug.trace.fold import Position as Position
from pallas_debug.trace.fold import memory as memory
from pallas_debug.trace.fold import position as position
from pallas_debug.trace.fork import Counts as Counts
from pallas_debug.trace.fork import Fork as Fork
from pallas_debug.trace.order import Order as Order
from pallas_debug.trace.regions import Region as Region
from pallas_debug.trace.regions import Regions as Regions
from pallas_debug.trace.schema import BufferRow as BufferRow
from pallas_debug.trace.schema import Kind as Kind
from pallas_debug.trace.schema import Outcome as Outcome
from pallas_debug.trace.schema import RegionKind as RegionKind
from pallas_debug.trace.schema import ThreadRow as ThreadRow
from pallas_debug.trace.tables import RecordedBuffer as RecordedBuffer
from pallas_debug.trace.tables import RecordedLaunch as RecordedLaunch
from pallas_debug.trace.tables import RecordedThread as RecordedThread
from pallas_debug.trace.trace import Trace as Trace
from pallas_debug.trace.writer import LaunchRecord as LaunchRecord
from pallas_debug.trace.writer import Writer as Writer
