"""The text of a tape: short enough to review, stable enough to compare."""

import kernels
import numpy as np
import tapes
from tapes import Tape, ds, index

from pallas_debug import ir

ONE = np.float32(1)
RING = """\
kernel (mosaic_gpu)
 0  r2 = grid.thread                                              kernel.py:1
    scoped run_scoped:
 1    ring, full, free = scope.alloc users=2                      kernel.py:2
 2    r6 = lax.f r2                                               kernel.py:3
      cond:
 3      ir.branch r6, →16, →4                                     kernel.py:4
        scan:
 4        r7 = ir.move 0                                          kernel.py:5
 5        r8 = lax.f r7, 4                                        kernel.py:6
 6        ir.branch r8, →7, →16                                   kernel.py:7
 7        r9 = lax.f r7                                           kernel.py:8
 8        r10 = lax.f r7                                          kernel.py:9
          cond:
 9          ir.branch r10, →11, →10                               kernel.py:10
10          test.wait free, r9                                    kernel.py:11
11        r11 = state.get x[r7]                                   kernel.py:12
12        state.set ring[r9], r11                                 kernel.py:13
13        test.arrive full, r9                                    kernel.py:14
14        r7 = lax.f r7                                           kernel.py:15
15        ir.jump →5                                              kernel.py:16
16    r12 = lax.f r2                                              kernel.py:17
      cond:
17      ir.branch r12, →28, →18                                   kernel.py:18
        scan:
18        r13 = ir.move 0                                         kernel.py:19
19        r14 = lax.f r13, 4                                      kernel.py:20
20        ir.branch r14, →21, →28                                 kernel.py:21
21        r15 = lax.f r13                                         kernel.py:22
22        test.wait full, r15                                     kernel.py:23
23        r16 = state.get ring[r15]                               kernel.py:24
24        state.set y[r13], r16                                   kernel.py:25
25        test.arrive free, r15                                   kernel.py:26
26        r13 = lax.f r13                                         kernel.py:27
27        ir.jump →19                                             kernel.py:28
28    scope.free ring, full, free, users=2                        kernel.py:29
29  ir.return                                                     kernel.py:30
"""


def test_listing_of_a_ring():
    assert ir.listing(kernels.ring().kernel) == RING


def test_kernel_prints_as_its_listing():
    kernel = kernels.ring().kernel
    assert str(kernel) == ir.listing(kernel)
    assert repr(kernel) == "<Kernel kernel (mosaic_gpu): 30 instructions>"


def access(*steps, ref=None):
    from pallas_debug.ir.listing import access as text

    ref = ref or ir.Reg(2)
    return text(tapes.view(ref, steps), {2: "smem"}, {2: (64, 4)})


def test_access_reads_like_a_subscript():
    assert access() == "smem"
    assert access(index(ds(ir.Reg(3), 64), ds(0, 4))) == "smem[r3:r3+64, :]"
    assert access(index(ds(0, 3), 1)) == "smem[0:3, 1]"
    assert access(index(ds(2, 3, 2), ir.Reg(5))) == "smem[2:8:2, r5]"
    assert access(index(np.array([1, 2]), ds(0, 4))) == "smem[@int64[2], :]"
    dynamic = ir.Slice(start=ir.Reg(1), size=-1, size_operand=ir.Reg(2))
    assert access(index(dynamic, 0)) == "smem[r1:r1+r2, 0]"
    assert access(ref=ir.Reg(9)) == "r9"


def test_access_shows_every_kind_of_view():
    views = [
        ir.Transpose(permutation=(1, 0)),
        ir.Reshape(shape=(256,)),
        ir.Bitcast(dtype="int8", shape=(1024,)),
        ir.Alias(dtype="int16", shape=(2,), offset=8),
        ir.Peer(ids=(ir.Reg(1), ir.Const(np.int32(0))), axes=("x", "y")),
        ir.Multicast(axes=("x",)),
    ]
    assert access(*views) == (
        "smem.T(1, 0).reshape(256,).bitcast(int8[1024]).alias(int16[2] at 8)"
        ".peer(x=r1, y=0).multicast(x)"
    )


def test_agent_registers_are_not_the_kernels():
    """Register 0 of a copy's routine is not the kernel's first argument."""
    t = Tape()
    x = t.input("x", (1,))
    t.start(lambda t, ref: t.get(ref, [0]), x)
    lines = ir.listing(t.kernel()).splitlines()
    assert "test.spawn x" in lines[1]
    assert "state.get r0[0]" in lines[3]


def fingerprint(constant=ONE, expr="{0} + {1}", start=0):
    t = Tape()
    x = t.input("x", (8,))
    value = t.get(x, [ds(start, 4)])
    pure = ir.Pure(expr=expr)
    t.emit("lax.f", value, constant, results=1, pure=pure)
    return t.kernel().fingerprint


def test_fingerprint_follows_what_is_executed():
    same = fingerprint()
    assert fingerprint() == same
    others = [
        fingerprint(constant=np.float32(2)),
        fingerprint(constant=np.ones(4, np.float32)),
        fingerprint(constant=np.full(4, 2, np.float32)),
        fingerprint(expr="{0} * {1}"),
        fingerprint(start=1),
    ]
    assert len({same, *others}) == 6
