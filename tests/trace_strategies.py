"""Random small traces, as the machine could have written them."""

import numpy as np
from helpers import TraceBuilder
from hypothesis import strategies as st

SHAPE = (4, 6)
RACING = ["read", "write", "write", "update", "spawn", "end", "arrive", "wait", "fence"]
VERBS = ["read", "spawn", "end", "arrive", "wait", "signal", "take", "join"]


@st.composite
def spans(draw, shape=SHAPE):
    """A box of a buffer, sometimes partly or wholly outside it."""
    return [
        (
            draw(st.integers(-2, size + 1)),
            draw(st.integers(0, size)),
            draw(st.integers(1, 3)),
        )
        for size in shape
    ]


@st.composite
def where(draw, shape=SHAPE):
    """A place as keywords of an access: a box, a masked box, or elements."""
    kind = draw(st.sampled_from(["whole", "box", "mask", "elements"]))
    if kind == "whole":
        return {"box": None}, shape
    if kind == "elements":
        numbers = draw(st.lists(st.integers(-2, 30), min_size=1, max_size=8))
        return {"elements": numbers}, (len(numbers),)
    box = draw(spans(shape))
    sizes = tuple(size for _, size, _ in box)
    if kind == "box":
        return {"box": box}, sizes
    bits = draw(st.integers(0, 2**32 - 1))
    mask = np.random.default_rng(bits).random(sizes) < 0.5
    return {"box": box, "mask": mask}, sizes


@st.composite
def memory_traces(draw):
    """Traces of one thread that allocates, writes, reads and pads a few buffers."""
    b = TraceBuilder(grid=(2,), backend="generic")
    t = b.thread("core")
    x = b.buffer("x", SHAPE, initial=np.arange(24, dtype=np.float32).reshape(SHAPE))
    s, a = b.buffer("s", SHAPE), b.buffer("a", SHAPE, alias=x)
    for buffer in (x, s, a):
        t.alloc(buffer)
    for number in range(draw(st.integers(0, 12))):
        verb = draw(st.sampled_from(["write", "update", "read", "pad", "alloc"]))
        buffer = draw(st.sampled_from([x, s, a]))
        if verb == "alloc":
            t.alloc(buffer)
        elif verb == "pad":
            t.pad(buffer, draw(spans()))
        else:
            place, shape = draw(where())
            value = np.full(shape, 100 + number, np.float32)
            value += np.arange(value.size, dtype=np.float32).reshape(shape) / 64
            value = value if draw(st.booleans()) else None
            line = draw(st.integers(1, 3))
            getattr(t, verb)(buffer, value=value, line=line, **place)
    return b.close(meta={"mode": "fast"})


@st.composite
def thread_traces(draw, most=40):
    """Traces of several threads, agents, barriers and semaphores, in a legal order."""
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (8,), initial=np.zeros(8, np.float32))
    bar, sem = b.barrier("bar", 2, arrivals=2), b.semaphore("sem", 2)
    root = b.thread("warpgroup", block=0)
    threads = [root.spawn("warpgroup") for _ in range(draw(st.integers(1, 3)))]
    live, ended, arrivals, phases = list(threads), [], [0, 0], [0, 0]
    for _ in range(draw(st.integers(0, most))):
        t = draw(st.sampled_from(live))
        i = draw(st.integers(0, 1))
        verb = draw(st.sampled_from(VERBS))
        if verb == "read":
            t.read(x)
        elif verb == "spawn":
            live.append(t.spawn())
        elif verb == "end" and t not in threads:
            t.end()
            live.remove(t)
            ended.append(t)
        elif verb == "arrive":
            t.arrive(bar, i, before=phases[i])
            arrivals[i] += 1
            if arrivals[i] == 2:
                arrivals[i] = 0
                phases[i] += 1
                t.phase(bar, i, done=phases[i])
        elif verb == "wait" and phases[i]:
            t.wait(bar, i, draw(st.integers(1, phases[i])))
        elif verb == "signal":
            t.signal(sem, i)
        elif verb == "take":
            t.wait(sem, i)
        elif verb == "join":
            others = [o for o in live if o not in threads and o is not t] + ended
            if others:
                agent = draw(st.sampled_from(others))
                t.join(agent, reads=agent not in ended or draw(st.booleans()))
    return b.close()


@st.composite
def racing_traces(draw, most=30):
    """Threads, copies, products and barriers that touch a little memory, as they like."""
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar", arrivals=1)
    memory = [
        b.buffer("s", (4,), space="smem", block=0),
        b.buffer("t", (4,), space="tmem", block=0),
    ]
    root = b.thread("warpgroup", block=0)
    threads = [root.spawn("warpgroup") for _ in range(draw(st.integers(1, 3)))]
    live, ended, phases = list(threads), [], 0
    issues = ["gpu.copy_gmem_to_smem", "gpu.tcgen05_mma", "gpu.tcgen05_copy_start"]
    for _ in range(draw(st.integers(2, most))):
        t = draw(st.sampled_from(live))
        verb = draw(st.sampled_from(RACING))
        if verb in ("read", "write", "update"):
            start = draw(st.integers(0, 3))
            size = draw(st.integers(1, 4 - start))
            buffer, op = draw(st.sampled_from(memory)), "state.get"
            if t in threads and verb != "update" and buffer == memory[1]:
                names = {"read": "load", "write": "store"}
                op = f"gpu.async_{names[verb]}_tmem"
            line = draw(st.integers(1, 3))
            getattr(t, verb)(buffer, [(start, size)], op=op, line=line)
        elif verb == "spawn" and t in threads:
            op = draw(st.sampled_from(issues))
            agent = t.spawn(op=op)
            row = b.writer.threads[agent.number]
            b.writer.threads[agent.number] = row._replace(instr=b.instr(op=op))
            live.append(agent)
        elif verb == "end" and t not in threads:
            t.end()
            live.remove(t)
            ended.append(t)
        elif verb == "arrive":
            t.arrive(bar, before=phases)
            phases += 1
            t.phase(bar, done=phases)
        elif verb == "wait" and phases and t in threads:
            t.wait(bar, aux=phases)
        elif verb == "fence" and t in threads:
            t.fence(draw(st.integers(0, 2)))
        if ended and t in threads and draw(st.integers(0, 9)) == 0:
            t.join(draw(st.sampled_from(ended)))
    return b.close()
