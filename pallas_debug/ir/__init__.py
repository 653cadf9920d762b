"""Plain frozen data: what a kernel says and what a launch needs. Imports nothing of ours."""

from pallas_debug.ir.kernel import Buffer as Buffer
from pallas_debug.ir.kernel import Grid as Grid
from pallas_debug.ir.kernel import Kernel as Kernel
from pallas_debug.ir.kernel import Launch as Launch
from pallas_debug.ir.listing import listing as listing
from pallas_debug.ir.loc import Loc as Loc
from pallas_debug.ir.pure import Pure as Pure
from pallas_debug.ir.tape import Access as Access
from pallas_debug.ir.tape import Alias as Alias
from pallas_debug.ir.tape import At as At
from pallas_debug.ir.tape import Bitcast as Bitcast
from pallas_debug.ir.tape import Const as Const
from pallas_debug.ir.tape import Gather as Gather
from pallas_debug.ir.tape import Index as Index
from pallas_debug.ir.tape import Instr as Instr
from pallas_debug.ir.tape import Multicast as Multicast
from pallas_debug.ir.tape import Operand as Operand
from pallas_debug.ir.tape import Peer as Peer
from pallas_debug.ir.tape import Reg as Reg
from pallas_debug.ir.tape import Reshape as Reshape
from pallas_debug.ir.tape import Scope as Scope
from pallas_debug.ir.tape import Slice as Slice
from pallas_debug.ir.tape import Tape as Tape
from pallas_debug.ir.tape import Transpose as Transpose
from pallas_debug.ir.tape import ViewStep as ViewStep
from pallas_debug.ir.validate import validate as validate
