"""The explicit list of translator families: equations with effects to instructions."""

from pallas_debug.jaxlink.translate import gpu as gpu
from pallas_debug.jaxlink.translate import gpu_barriers as gpu_barriers
from pallas_debug.jaxlink.translate import gpu_clusters as gpu_clusters
from pallas_debug.jaxlink.translate import gpu_copies as gpu_copies
from pallas_debug.jaxlink.translate import gpu_inline as gpu_inline
from pallas_debug.jaxlink.translate import gpu_tcgen05 as gpu_tcgen05
from pallas_debug.jaxlink.translate import gpu_wgmma as gpu_wgmma
from pallas_debug.jaxlink.translate import pallas as pallas
from pallas_debug.jaxlink.translate import pallas_print as pallas_print
from pallas_debug.jaxlink.translate import pallas_semaphores as pallas_semaphores
from pallas_debug.jaxlink.translate import sparse_core as sparse_core
from pallas_debug.jaxlink.translate import state as state
from pallas_debug.jaxlink.translate import tpu as tpu
from pallas_debug.jaxlink.translate import triton as triton
