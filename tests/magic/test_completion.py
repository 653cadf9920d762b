"""Tab on the magic's line, asked as a notebook's kernel asks."""

import pytest

pytest.importorskip("IPython")

from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="NoColor")
    shell.run_line_magic("load_ext", "pallas_debug")
    shell.user_ns["launch_it"] = len
    yield shell
    shell.run_line_magic("unload_ext", "pallas_debug")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def offered(shell, text):
    """What Tab offers at the `|` of a cell."""
    cursor = text.index("|")
    with provisionalcompleter():
        found = shell.Completer.completions(text.replace("|", ""), cursor)
        return {one.text for one in found}


@pytest.mark.parametrize("jedi", [True, False])
@pytest.mark.parametrize(
    ("text", "there", "absent"),
    [
        ("%%pallas_debug --c|\nf(x)", {"--chip", "--cores"}, {"--static"}),
        ("%%pallas_debug -|\nf(x)", {"-o", "-s", "--static", "--values"}, set()),
        ("%%pallas_debug --chip |\nf(x)", {"h100", "v5e"}, {"--chip"}),
        ("%%pallas_debug --chip v5|\nf(x)", {"v5e", "v5p"}, {"h100"}),
        ("%%pallas_debug -o t --values |", {"writes", "all", "none"}, set()),
        ("%pallas_debug --policy r|", {"round-robin", "random"}, {"last-first"}),
        ("x = 1\n%pallas_debug --uninit|", {"--uninitialized"}, {"--chip"}),
        ("%pallas_debug --static laun|", {"launch_it"}, {"--chip"}),
        ("%pallas_debug launch_it.__na|", {"launch_it.__name__"}, {"--chip"}),
        ("%timeit -|", set(), {"--chip"}),
    ],
)
def test_tab_offers_options_and_their_words(shell, text, there, absent, jedi):
    shell.Completer.use_jedi = jedi
    found = offered(shell, text)
    assert there <= found
    assert not absent & found


def test_unloading_takes_the_completion_along(shell):
    shell.run_line_magic("unload_ext", "pallas_debug")
    assert "--chip" not in offered(shell, "%pallas_debug --c|")
