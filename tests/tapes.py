"""Hand-written tapes: a small builder and ops that show one verb of the machine each.

    t = Tape(grid=(4,), threads=2)
    x, y = t.input("x", (8,)), t.output("y", (8,))
    i = t.grid_id(0)
    t.set(y, [i], t.pure(lambda a: a + 1, t.get(x, [i])))
    trace = t.trace(np.zeros(8, np.float32))

An index is an int or a register (one element), `ds(start, size, stride)`, or an array.
"""

import contextlib
import dataclasses

import numpy as np

from pallas_debug import ir, machine
from pallas_debug.machine.replaying import effects
from pallas_debug.machine.rules.registry import RULES, rule
from pallas_debug.trace import Writer, close

FILE = "kernel.py"


def operand(value):
    return value if isinstance(value, ir.Reg | ir.Const) else ir.Const(value)


def ds(start, size, stride=1):
    return ir.Slice(start=operand(start), size=size, stride=stride)


def index(*dims):
    """One indexer."""
    made = []
    for dim in dims:
        if isinstance(dim, ir.Slice | ir.At | ir.Gather):
            made.append(dim)
        elif isinstance(dim, np.ndarray) and dim.ndim:
            made.append(ir.Gather(index=ir.Const(dim)))
        else:
            made.append(ir.At(index=operand(dim)))
    return ir.Index(dims=tuple(made))


def view(ref, steps=()):
    """An access from a list of view steps, or of the dims of a single indexer."""
    if steps and not all(isinstance(step, ir.ViewStep) for step in steps):
        steps = [index(*steps)]
    return ir.Access(ref=ref, steps=tuple(steps))


class Tape:
    """A kernel under construction; every instruction is a source line of its own."""

    def __init__(
        self, *, backend="mosaic_gpu", grid=(), threads=1, cluster=(), **facts
    ):
        names = tuple(f"c{axis}" for axis in range(len(cluster)))
        self.grid = ir.Grid(
            shape=grid, threads=threads, cluster=cluster, cluster_names=names
        )
        self.backend, self.facts = backend, facts
        self.code, self.buffers, self.arguments = [], [], []
        self.counts = {"scalar": 0, "input": 0, "output": 0}
        self.aliases = []
        self.registers = 0
        self.scopes = [ir.Scope(kind="kernel", name="kernel", parent=-1)]
        self.scope = 0

    def reg(self):
        self.registers += 1
        return ir.Reg(self.registers - 1)

    def _argument(self, role, name, shape, dtype, space):
        self.counts[role] += 1
        self.buffers.append(ir.Buffer(name=name, space=space, shape=shape, dtype=dtype))
        self.arguments.append(self.reg())
        return self.arguments[-1]

    def input(self, name, shape, dtype="float32", space="gmem"):
        return self._argument("input", name, tuple(shape), dtype, space)

    def output(self, name, shape, dtype="float32", space="gmem", alias=None):
        if alias is not None:
            self.aliases.append((self.arguments.index(alias), self.counts["output"]))
        return self._argument("output", name, tuple(shape), dtype, space)

    def emit(self, op, *ins, results=0, outs=None, accesses=(), **fields):
        """Appends an instruction; gives its result register, or registers."""
        regs = outs if outs is not None else [self.reg() for _ in range(results)]
        self.code.append(
            ir.Instr(
                op=op,
                ins=tuple(operand(o) for o in ins),
                outs=tuple(r.number for r in regs),
                accesses=tuple(accesses),
                loc=len(self.code),
                scope=self.scope,
                **fields,
            )
        )
        return regs[0] if len(regs) == 1 else tuple(regs)

    def op(self, name, *ins, results=0, **params):
        """An op of the `test` family."""
        waits = RULES.get(name).waits
        return self.emit(name, *ins, results=results, params=params, sync=waits)

    def pure(self, function, *ins, results=1, outs=None):
        operands = ", ".join(f"{{{i}}}" for i in range(len(ins)))
        pure = ir.Pure(expr=f"f({operands})", env={"f": function}, results=results)
        return self.emit("lax.f", *ins, results=results, outs=outs, pure=pure)

    def move(self, value, target):
        self.emit("ir.move", value, outs=[target], pure=ir.Pure(expr="{0}"))

    def get(self, ref, steps=()):
        return self.emit("state.get", results=1, accesses=[view(ref, steps)])

    def set(self, ref, steps, value):
        self.emit("state.set", value, accesses=[view(ref, steps)])

    def grid_id(self, axis):
        return self.emit("grid.id", results=1, params={"axis": f"#{axis}"})

    def thread_id(self):
        return self.emit("grid.thread", results=1)

    @property
    def here(self):
        return len(self.code)

    def patch(self, position, *targets):
        self.code[position] = dataclasses.replace(self.code[position], targets=targets)

    @contextlib.contextmanager
    def scoped(self, kind, name=""):
        before = self.scope
        self.scopes.append(ir.Scope(kind=kind, name=name or kind, parent=before))
        self.scope = len(self.scopes) - 1
        yield
        self.scope = before

    @contextlib.contextmanager
    def loop(self, count):
        """Counts a register from 0; `count` may be one."""
        with self.scoped("scan"):
            i = self.reg()
            self.move(np.int32(0), i)
            top = self.here
            done = self.pure(lambda a, n: a >= n, i, count)
            branch = self.here
            self.emit("ir.branch", done, targets=(-1, -1))
            yield i
            self.pure(lambda a: a + np.int32(1), i, outs=[i])
            self.emit("ir.jump", targets=(top,))
            self.patch(branch, branch + 1, self.here)

    @contextlib.contextmanager
    def when(self, condition):
        with self.scoped("cond"):
            branch = self.here
            self.emit("ir.branch", condition, targets=(-1, -1))
            yield
            self.patch(branch, self.here, branch + 1)

    @contextlib.contextmanager
    def alloc(self, *decls, users=1):
        """Scoped buffers."""
        with self.scoped("scoped", "run_scoped"):
            params = {"decls": decls, "users": users}
            regs = [self.reg() for _ in decls]
            self.emit("scope.alloc", outs=regs, params=params, sync=True)
            yield regs[0] if len(regs) == 1 else tuple(regs)
            self.emit("scope.free", *regs, params={"users": users}, sync=True)

    def start(self, agent, *ins, kind="dma", family=""):
        """Starts an agent whose routine `agent(t, *registers)` is appended later."""
        params = {"kind": kind, "family": family, "agent": agent}
        self.emit("test.spawn", *ins, params=params, targets=(-1,))

    def kernel(self):
        """Ends the body, appends the agents' routines, validates."""
        self.emit("ir.return")
        for position, instr in enumerate(list(self.code)):
            agent = instr.params.get("agent")
            if agent is None:
                continue
            kept, self.registers = self.registers, 0
            self.patch(position, self.here)
            agent(self, *(self.reg() for _ in instr.ins))
            self.emit("ir.return")
            params = {k: v for k, v in instr.params.items() if k != "agent"}
            params["locals"] = self.registers - len(instr.ins)
            self.code[position] = dataclasses.replace(
                self.code[position], params=params
            )
            self.registers = kept
        return ir.validate(self.made())

    def made(self):
        """The kernel as it is: unchecked."""
        locs = tuple(
            ir.Loc(file=FILE, line=n + 1, function="body", text=i.op)
            for n, i in enumerate(self.code)
        )
        return ir.Kernel(
            name="kernel",
            backend=self.backend,
            tape=tuple(self.code),
            registers=self.registers,
            arguments=tuple(r.number for r in self.arguments),
            buffers=tuple(self.buffers),
            num_scalars=self.counts["scalar"],
            num_inputs=self.counts["input"],
            num_outputs=self.counts["output"],
            grid=self.grid,
            aliases=tuple(self.aliases),
            locs=locs,
            scopes=tuple(self.scopes),
            facts=self.facts,
        )

    def launch(self, *arguments, kernel=None, **fields):
        kernel = kernel or self.kernel()
        grid = kernel.grid.shape
        return ir.Launch(kernel=kernel, arguments=arguments, grid=grid, **fields)

    def run(self, *arguments, policy=None, program=None, **options):
        return run(self.launch(*arguments), policy=policy, program=program, **options)

    def trace(self, *arguments, **options):
        return close(self.run(*arguments, **options).writer)


def run(launch, *, writer=None, policy=None, program=None, **options):
    """Runs a launch to its end; gives the run. A policy is a name or a function."""
    if isinstance(policy, str):
        options["policy"], policy = policy, None
    options = machine.Options(**options)
    writer = writer or Writer()
    return machine.run(launch, writer, options, policy=policy, program=program)


def buffer(name, shape, dtype="float32", space="smem", scope="block", **params):
    return ir.Buffer(
        name=name, space=space, shape=shape, dtype=dtype, scope=scope, params=params
    )


def barrier(name, count=1, arrivals=1):
    return buffer(name, (count,), "barrier", space="barrier", num_arrivals=arrivals)


def semaphore(name, count=1, scope="block"):
    return buffer(name, (count,), "semaphore", space="semaphore", scope=scope)


def _verbs():
    """One op for each verb, named after it."""

    @rule("test.spawn", wants_instr=True)
    def spawn(m, instr, *values, kind, family, locals):
        m.spawn(kind, instr.targets[0], [*values, *[None] * locals], family)

    simple = {
        "arrive": lambda m, b, i=0, n=1: m.arrive(b, int(i), int(n)),
        "signal": lambda m, s, i=0, n=1: m.signal(s, int(i), int(n)),
        "fence": lambda m: m.fence(),
        "commit": lambda m, *, family: m.commit(family),
        "reads_done": lambda m: m.reads_done(),
        "log": lambda m, *values: m.log(" ".join(map(str, values))),
        "asserted": lambda m, held: m.asserted(bool(held), "" if held else "text"),
        "free": lambda m, b: m.free(b),
    }
    waits = {
        "wait": lambda m, b, i=0: m.wait(b, int(i)),
        "take": lambda m, s, i=0, n=1: m.take(s, int(i), int(n)),
        "await": lambda m, agent: m.await_agent(int(agent)),
        "join": lambda m, *, family, pending=0, reads=False: m.join(
            family, pending, reads=reads
        ),
    }
    for name, function in simple.items():
        rule(f"test.{name}")(function)
    for name, function in waits.items():
        rule(f"test.{name}", waits=True)(function)
    effects.SPAWN.add("test.spawn")
    threads_alone = ("arrive", "signal", "fence", "commit", "reads_done")
    effects.INERT.update(f"test.{name}" for name in threads_alone)
    effects.INERT.update(f"test.{name}" for name in ("wait", "take", "join"))


if "test.spawn" not in RULES:
    _verbs()
