"""Golden bundles and Python's answers about them, which the viewer must give, too.

    python tests/golden/viewer.py

writes them anew to `js_widgets/tests/golden/`: for each case a gzipped bundle and a JSON
file of answers. Those that need JAX are made by the newest version that is supported.
"""

# ruff: noqa: E402 - the environment comes before JAX

import gzip
import json
import linecache
import math
import os
import pathlib
import sys
from dataclasses import replace

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent)]

import kernels as tapes_of
import numpy as np
from helpers import TraceBuilder

import pallas_debug as pldb
from pallas_debug.session import entries, navigation
from pallas_debug.trace import Trace, dtypes, fold, wording
from pallas_debug.views.bundle import bundle
from pallas_debug.views.parts import Sender

FOLDER = HERE.parent.parent / "js_widgets" / "tests" / "golden"
FIXTURE = HERE / "viewer_kernels.py"
JAX = "0.12.0.1"  # the version whose recordings are kept
MOST_VALUES = 48  # of a buffer, in one answer
MOST_CURSORS = 24
MOST_BUFFERS = 12
SEEDS = (1, 2, 3)

# Cases made by JAX: the function of the fixture, and options of the recording.
BY_JAX = {
    "padded": {"chip": "v5e"},
    "gather": {},
    "small_types": {},
    "deadlock": {"chip": "h100"},
    "past_the_end": {"chip": "v5e", "values": "all"},
    "launches": {"chip": "v5e"},
    "devices": {"chip": "v5e"},
    "neighbors": {"chip": "v5e"},
    "helpers": {"chip": "v5e"},
    "hopper_matmul": {"chip": "h100", "cores": 2},
}
REPORTS = {"deadlock": ["PD210"], "past_the_end": ["PD101"]}
BY_TAPE = ("elementwise", "copy_compute_copy", "ring", "dma", "masked_sum")
BY_HAND = tuple(f"random_{seed}" for seed in SEEDS)
CASES = (*BY_JAX, *BY_TAPE, *BY_HAND)
VALUES = {"hopper_matmul": 20_000}  # bytes of values that a bundle carries


def recorded(name: str) -> Trace:
    """The trace of a case."""
    if name in BY_TAPE:
        from pallas_debug.machine import Options, run
        from pallas_debug.trace import Writer, close

        writer = Writer()
        run(getattr(tapes_of, name)(), writer, Options())
        return close(writer)
    if name in BY_HAND:
        return random_trace(int(name.partition("_")[2]))
    from golden import viewer_kernels

    function = getattr(viewer_kernels, name)
    return portable(pldb.trace(function, options=pldb.Options(**BY_JAX[name])))


def portable(trace: Trace) -> Trace:
    """The same trace as if its files lay nowhere: their names have no folder."""
    text = FIXTURE.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    linecache.cache[FIXTURE.name] = (len(text), None, lines, FIXTURE.name)
    kernels = {id(launch.kernel): launch.kernel for launch in trace.launches}
    for key, kernel in kernels.items():
        locs = [replace(loc, file=pathlib.Path(loc.file).name) for loc in kernel.locs]
        kernels[key] = replace(kernel, locs=tuple(locs))
    launches = [
        replace(launch, kernel=kernels[id(launch.kernel)]) for launch in trace.launches
    ]
    meta = {"package": "golden", "jax": JAX}
    return replace(trace, launches=tuple(launches), meta=meta)


def random_trace(seed: int) -> Trace:
    """Accesses, agents, barriers and semaphores in a legal order, from a seed."""
    random = np.random.default_rng(seed)
    b = TraceBuilder(grid=(2,), name=f"random_{seed}")
    shape = (4, 6)
    x = b.buffer("x", shape, initial=np.arange(24, dtype=np.float32).reshape(shape))
    s, alias = b.buffer("s", shape, line=1), b.buffer("a", shape, alias=x)
    one = b.buffer("one", (), "int32")
    bar, sem = b.barrier("bar", 2, arrivals=1), b.semaphore("sem", 2)
    threads = [b.thread("warpgroup", block=block, index=0) for block in (0, 1)]
    live, ended, phases = list(threads), [], [0, 0]
    for buffer in (x, s, alias, one):
        threads[0].alloc(buffer)
    for number in range(80):
        t = live[random.integers(len(live))]
        i, line = int(random.integers(2)), int(random.integers(1, 6))
        verb = random.choice(["write"] * 4 + ["read", "update", "pad", "alloc", "sync"])
        buffer = [x, s, alias][random.integers(3)]
        if verb == "alloc":
            t.alloc(buffer, line=line) if random.random() < 0.2 else t.write(
                one, value=np.asarray(number, np.int32), line=line
            )
        elif verb == "pad":
            t.pad(buffer, box_of(random, shape), line=line)
        elif verb == "sync":
            _sync(random, b, t, (live, ended, threads), (bar, sem, i, phases), line)
        else:
            place, size = place_of(random, shape)
            value = 100 * number + np.arange(math.prod(size), dtype=np.float32)
            value = value.reshape(size) if random.random() < 0.8 else None
            getattr(t, verb)(buffer, value=value, line=line, **place)
    return b.close()


def _sync(random, b, t, people, things, line):
    live, ended, threads = people
    bar, sem, i, phases = things
    verb = random.choice(["spawn", "end", "arrive", "wait", "signal", "join", "grid"])
    if verb == "spawn":
        live.append(t.spawn(line=line))
    elif verb == "end" and t not in threads:
        t.end(line=line)
        live.remove(t)
        ended.append(t)
    elif verb == "arrive":
        t.arrive(bar, i, before=phases[i], line=line)
        phases[i] += 1
        t.phase(bar, i, done=phases[i], line=line)
    elif verb == "wait" and phases[i]:
        t.blocked(bar, i, phases[i], line=line)
        t.wait(bar, i, phases[i], line=line)
    elif verb == "signal":
        t.signal(sem, i, aux=3, line=line)
        t.wait(sem, i, aux=2, line=line)
    elif verb == "join" and ended:
        t.join(ended[random.integers(len(ended))], line=line)
    elif verb == "grid":
        t.print(f"line {line}", line=line)


def box_of(random, shape):
    return [
        (
            int(random.integers(-2, size + 1)),
            int(random.integers(0, size + 1)),
            int(random.integers(1, 4)),
        )
        for size in shape
    ]


def place_of(random, shape):
    """Where an access goes: a box, a masked box, elements, or all; and its size."""
    kind = random.integers(4)
    if kind == 0:
        return {}, shape
    if kind == 1:
        elements = random.integers(-2, 28, int(random.integers(1, 8)))
        return {"elements": elements}, elements.shape
    box = box_of(random, shape)
    sizes = tuple(size for _, size, _ in box)
    if kind == 2:
        return {"box": box}, sizes
    return {"box": box, "mask": random.random(sizes) < 0.5}, sizes


def answers(trace: Trace, report) -> dict:
    """What Python says about a trace; every list is one question a row."""
    return {
        "events": len(trace),
        "what": _what(trace),
        "fold": _folds(trace),
        "values": _values(trace),
        "queries": _queries(trace),
        "navigation": _navigation(trace),
        "clocks": _clocks(trace),
        "calls": _calls(trace),
        "stops": _stops(trace),
    }


def cursors(trace: Trace) -> list[int]:
    """Some moments, the first and the last among them."""
    found = np.linspace(0, len(trace), min(MOST_CURSORS, len(trace) + 1))
    return sorted({int(at) for at in found})


def numbers(array: np.ndarray) -> dict:
    """Every so many-th element as JSON: NaN and infinities as words."""
    flat = array.ravel()
    every = max(math.ceil(flat.size / MOST_VALUES), 1)
    if flat.dtype.kind == "b":
        return {"every": every, "of": [bool(x) for x in flat[::every]]}
    found = [float(x.real) for x in flat[::every]]
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return {"every": every, "of": [words.get(str(x), x) for x in found]}


def _what(trace):
    every = max(len(trace) // 150, 1)
    return [
        {
            "event": seq,
            "what": trace[seq].what,
            "place": trace[seq].place,
            "thread": trace[seq].thread.name,
            "op": trace[seq].op,
        }
        for seq in range(0, len(trace), every)
    ]


def _buffers(trace):
    found = [b for b in trace.buffers if not dtypes.is_sync(b.dtype)]
    every = max(len(found) // MOST_BUFFERS, 1)
    return [buffer.number for buffer in found[::every]]


def _folds(trace):
    rows = []
    for number in _buffers(trace):
        before = None
        for at in cursors(trace):
            memory = fold.memory(trace, number, at)
            row = {
                "values": numbers(memory.values),
                "initialized": numbers(memory.initialized),
                "recorded": numbers(fold.recorded(trace, number, at)),
            }
            if row != before:  # what stays the same is not said again
                rows.append({"buffer": number, "at": at, **row})
            before = row
    return rows


def _values(trace):
    every = max(len(trace.payloads) // 40, 1)
    return [
        {"payload": n, **numbers(trace.payload(n))}
        for n in range(0, len(trace.payloads), every)
        if n not in trace.left_out
    ]


def queries(trace: Trace) -> list[str]:
    """Conditions as a user types them; some have no answer but an error."""
    events = trace.events
    middle = events[len(trace) // 2]
    names = list(dict.fromkeys(b.name for b in trace.buffers))
    spaces = list(dict.fromkeys(b.space for b in trace.buffers))
    found = [
        'kind="write"',
        'kind=("read", "update")',
        'kind="nothing"',
        f"thread={middle.thread.number}",
        f'thread="{middle.thread.kind}"',
        f"block={middle.column('block')}",
        f"launch={middle.launch.number}",
        f'op="{middle.op}"',
        f'line="{middle.place}"' if middle.place else "line=1",
        f"line={middle.loc.line if middle.loc else 3}",
        "line=100000",
        "nan=True",
        "inf=True",
        "nan=True, kind='write'",
        "",
        "nothing=3",
        *(f'buffer="{name}"' for name in names[:4]),
        *(f'space="{space}", kind="write"' for space in spaces[:3]),
        *(f'buffer="{name}", region="[0:2]"' for name in names[:3]),
        *(f'buffer="{name}", region="[1, 2:5]"' for name in names[:3]),
        *(
            f'kind=("write", "read"), buffer="{name}", region="[:]"'
            for name in names[:2]
        ),
    ]
    if middle.block is not None:
        found.append(f"block={middle.block}")
    return found


def _queries(trace):
    rows = []
    for text in queries(trace):
        try:
            given = eval(f"dict({text})")
            rows.append({"where": text, "events": trace.events.where(**given).tolist()})
        except pldb_errors() as error:
            rows.append({"where": text, "error": error.message})
    return rows


def pldb_errors():
    from pallas_debug import errors

    return errors.BadOption


def _navigation(trace):
    """Each command from some cursors, with the focus that the current event gives."""
    rows = []
    for cursor in cursors(trace)[::2]:
        focus = navigation.Focus()
        if cursor:
            focus = navigation.focus_of(trace, cursor - 1, focus)
        found = {
            name: command(trace, cursor, focus)
            for name, command in navigation.COMMANDS.items()
        }
        row = {"cursor": cursor, "to": found}
        row |= {n: getattr(focus, n) for n in ("thread", "block", "buffer", "launch")}
        rows.append(row)
    return rows + _last_writes(trace)


def _calls(trace):
    every = max(len(trace) // 60, 1)
    rows = [
        {
            "event": event,
            "callers": [str(one) for one in trace[event].callers],
            "calls": [str(one) for one in trace[event].calls],
        }
        for event in range(0, len(trace), every)
    ]
    return [row for row in rows if row["callers"]]


def _stops(trace):
    """Where breakpoints stop on lines that call something, and what they call."""
    found = lambda given: trace.events.where(**given)
    kernels = [launch.kernel for launch in trace.launches]
    sites = {s for kernel in kernels for of in kernel.sites for s in of}
    texts = [f"{pathlib.Path(s.file).name}:{s.line}" for s in sites]
    rows = []
    for line in sorted(set(texts))[:MOST_BUFFERS]:
        for more in ({}, {"kind": "write"}):
            row = {"where": wording.text_of({"line": line, **more})}
            row["events"] = entries.stops(trace, {"line": line, **more}, found).tolist()
            row["within"] = trace.events.where(within=line, **more).tolist()
            rows.append(row)
    return rows


def _last_writes(trace):
    rows = []
    for number in _buffers(trace)[:4]:
        shape = trace.buffer_rows[number].shape
        element = [size // 2 for size in shape]
        for cursor in cursors(trace)[::4]:
            to = navigation.last_write(trace, cursor, number, element)
            row = {"cursor": cursor, "buffer": number, "element": element}
            rows.append({**row, "last_write": to})
    return rows


def _clocks(trace):
    return [
        {"event": at - 1, "clock": sorted(trace.order.clock(at - 1).items())}
        for at in cursors(trace)
        if at
    ]


def made(name: str) -> tuple[bytes, str]:
    """The bundle and the answers of a case."""
    trace = recorded(name)
    codes = REPORTS.get(name)
    report = pldb.check(trace, select=codes) if codes else None
    data = bundle(trace, report, values_bytes=VALUES.get(name, 1 << 20))
    # Values that were left out change what can be answered: ask the file.
    said = json.dumps(answers(pldb_loads(data), report), separators=(",", ":"))
    return data, said.replace('},{"', '},\n{"') + "\n"


GROWING = "random_1"  # the case whose bundle is kept in two parts, too


def parts() -> tuple[bytes, bytes]:
    """A bundle of the first half of a trace, and what the second half adds."""
    trace = recorded(GROWING)
    sender = Sender()
    facts, first = sender.bundle(trace[: len(trace) // 2], None)
    _, second = sender.bundle(trace, None, have=facts["bundle"])
    return first, second


def pldb_loads(data):
    from pallas_debug.trace import loads

    return loads(data)


def kept(name: str) -> tuple[bytes, str]:
    """What the golden files hold."""
    data = (FOLDER / f"{name}.bundle").read_bytes()
    return gzip.decompress(data), (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def record() -> None:
    """Writes all golden files anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    total = 0
    for name in CASES:
        data, said = made(name)
        packed = gzip.compress(data, 9, mtime=0)
        (FOLDER / f"{name}.bundle").write_bytes(packed)
        (FOLDER / f"{name}.json").write_text(said, encoding="utf-8")
        total += len(packed) + len(said)
        for number, part in enumerate(parts() if name == GROWING else ()):
            packed = gzip.compress(part, 9, mtime=0)
            (FOLDER / f"{name}.part{number}").write_bytes(packed)
            total += len(packed)
        print(f"{name:20} {len(packed):8,} {len(said):9,}")
    print(f"{'total':29} {total:9,}")


if __name__ == "__main__":
    record()
