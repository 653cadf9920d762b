"""The verbs: trace, check, recording, load. The only layer that sees all the others."""

from __future__ import annotations

from pallas_debug.machine.options import Options as Options
from pallas_debug.session import showing as showing
from pallas_debug.session.compare import compare as compare
from pallas_debug.session.debugging import debug as debug
from pallas_debug.session.portability import portability as portability
from pallas_debug.session.session import Session as Session
from pallas_debug.session.verbs import Recording as Recording
from pallas_debug.session.verbs import check as check
from pallas_debug.session.verbs import load as load
from pallas_debug.session.verbs import recording as recording
from pallas_debug.session.verbs import trace as trace
