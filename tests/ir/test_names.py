"""Names of registers: certain ones, and none where it is not certain."""

import linecache
import textwrap

import pytest

from pallas_debug import ir
from pallas_debug.ir import assignments
from pallas_debug.ir.names import bindings, names

FILE = "<a file of the names' tests>"


@pytest.fixture
def source():
    """Makes a text the contents of FILE."""

    def write(text):
        lines = textwrap.dedent(text).splitlines(keepends=True)
        linecache.cache[FILE] = (len(text), None, lines, FILE)
        return lines

    yield write
    linecache.cache.pop(FILE, None)


def made(lines, *code, scopes=(("kernel", -1),)):
    """A kernel of `(op, "text of the expression" or (line, column), outs, scope)`."""
    locs, tape = [], []
    for op, place, outs, *scope in code:
        line, column = place if isinstance(place, tuple) else found(lines, place)
        text = textwrap.dedent(lines[line - 1]).rstrip()
        locs.append(
            ir.Loc(file=FILE, line=line, column=column, function="f", text=text)
        )
        tape.append(
            ir.Instr(op=op, outs=outs, loc=len(locs) - 1, scope=(scope or [0])[0])
        )
    tape.append(ir.Instr(op="ir.return"))
    return ir.Kernel(
        name="f",
        backend="generic",
        tape=tuple(tape),
        locs=tuple(locs),
        registers=20,
        scopes=tuple(ir.Scope(kind=k, name=k, parent=up) for k, up in scopes),
    )


def found(lines, text):
    for number, line in enumerate(lines, 1):
        if text in line:
            return number, line.index(text)
    raise AssertionError(text)


def test_the_whole_of_an_assigned_expression_has_the_name(source):
    lines = source("""\
        def f():
            y = x * 2 + z
    """)
    kernel = made(
        lines,
        ("lax.mul", "x * 2", (1,)),
        ("lax.add", "x * 2 + z", (2,)),
    )
    assert names(kernel) == ["", "y", ""]


def test_a_part_that_begins_elsewhere_has_no_name(source):
    lines = source("""\
        def f():
            y = z + x * 2
    """)
    kernel = made(lines, ("lax.mul", "x * 2", (1,)), ("lax.add", "z + x * 2", (2,)))
    assert names(kernel) == ["", "y", ""]
    kernel = made(lines, ("lax.mul", "x * 2", (1,)))
    assert names(kernel) == ["", ""]


def test_each_turn_of_an_unrolled_loop_has_the_name(source):
    lines = source("""\
        def f():
            for i in range(3):
                y = x * y + z
    """)
    turn = [("lax.mul", "x * y", (1,)), ("lax.add", "x * y + z", (2,))]
    assert names(made(lines, *turn * 3)) == ["", "y"] * 3 + [""]


def test_targets_of_a_tuple_are_named_by_position(source):
    lines = source("""\
        def f():
            a, b = g(x)
            c, (d, e) = h(x)
            p, q = x + 1, y * 2
            r, s = one(x)
    """)
    kernel = made(
        lines,
        ("lax.split", "g(x)", (1, 2)),
        ("lax.split", "h(x)", (3, 4, 5)),
        ("lax.add", "x + 1", (6,)),
        ("lax.mul", "y * 2", (7,)),
        ("lax.one", "one(x)", (8,)),
    )
    assert names(kernel) == ["a, b", "c, d, e", "p", "q", "", ""]


def test_other_ways_to_assign(source):
    lines = source("""\
        def f():
            a: int = x + 1
            if (b := x * 2) > 0:
                pass
            c += y
            d = e = x - 1
            x.attribute = x - 2
            k[0] = x - 3
    """)
    texts = ["x + 1", "x * 2", "c += y", "x - 1", "x - 2", "x - 3"]
    code = [("lax.add", text, (n,)) for n, text in enumerate(texts)]
    # Python knows no simple statement around a condition: `b` is not certain there.
    assert names(made(lines, *code)) == ["a", "", "c", "d", "", "", ""]


def test_a_file_that_has_changed_gives_no_names(source):
    lines = source("def f():\n    y = x + 1\n")
    kernel = made(lines, ("lax.add", "x + 1", (1,)))
    source("def f():\n    z = x + 2\n")
    assert names(kernel) == ["", ""]
    source("def f(:\n    y = x + 1\n")
    assert names(kernel) == ["", ""]
    linecache.cache.pop(FILE)
    assert names(kernel) == ["", ""]


@pytest.mark.parametrize(
    ("text", "call", "kind", "outs", "inner", "outer"),
    [
        (
            """\
            def f():
                def body(i, carry):
                    m, (l, acc) = carry
                    return carry
                a, b, c = lax.fori_loop(0, 4, body, init)
            """,
            "lax.fori_loop(0",
            "scan",
            (1, 2, 3, 4),
            ["i", "m", "l", "acc"],
            ["a", "b", "c"],
        ),
        (
            """\
            def f():
                t = lax.fori_loop(0, n, lambda i, acc: acc + i, init)
            """,
            "lax.fori_loop(0",
            "while",
            (1, 2, 3),
            ["i", "acc"],
            ["t"],
        ),
        (
            """\
            def f():
                @pl.loop(0, 4)
                def body(step):
                    pass
            """,
            "pl.loop(0",
            "scan",
            (1,),
            ["step"],
            [],
        ),
        (
            """\
            def body(c):
                return c
            def f():
                pair = lax.while_loop(test, body, init)
            """,
            "lax.while_loop(",
            "while",
            (1, 2),
            ["c[0]", "c[1]"],
            ["pair[0]", "pair[1]"],
        ),
        (
            """\
            def f():
                x = lax.fori_loop(0, 4, partial(body, 3), init)
            """,
            "lax.fori_loop(0",
            "scan",
            (1, 2),
            [],
            [],
        ),
    ],
)
def test_what_a_loop_carries_is_named_inside_and_behind(
    source, text, call, kind, outs, inner, outer
):
    lines = source(text)
    scopes = (("kernel", -1), (kind, 0))
    kernel = made(lines, ("ir.move", call, outs, 1), scopes=scopes)
    found = bindings(kernel)
    assert [one.name for one in found if one.within == 1] == inner
    assert [one.name for one in found if one.beyond == 1] == outer


def test_references_have_their_declared_names():
    buffer = ir.Buffer(name="x_ref", space="any", shape=(4,), dtype="float32")
    kernel = ir.Kernel(
        name="f",
        backend="generic",
        tape=(
            ir.Instr(op="scope.alloc", outs=(3,), params={"decls": (buffer,)}),
            ir.Instr(op="ir.return"),
        ),
        registers=4,
        arguments=(0,),
        buffers=(buffer,),
    )
    found = {
        (one.name, one.register, one.instr, one.is_ref) for one in bindings(kernel)
    }
    assert found == {("x_ref", 0, -1, True), ("x_ref", 3, 0, True)}


def test_registers_of_agents_have_no_names(source):
    lines = source("def f():\n    y = copy(x)\n")
    kernel = made(lines, ("ir.return", "copy(x)", ()), ("dma.read", "copy(x)", (0,)))
    assert names(kernel) == ["", "", ""]


def test_statement_of_a_place():
    text = "a = 1\nb = (2 +\n     3); c = 4\nif x:\n    d = 5\n"
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    try:
        file = assignments.assignments(FILE)
    finally:
        linecache.cache.pop(FILE)
    assert file.statement((1, 0)) == 0
    assert file.statement((3, 5)) == 1
    assert file.statement((3, 9)) == 2
    assert file.statement((4, 3)) == -1
    assert file.statement((5, 4)) == 3
    assert file.statement((9, 0)) == -1
