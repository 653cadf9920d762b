"""The wheel and the sdist, each installed alone, where there is no Node and no compiler.

An environment has our dependencies from the one that runs the tests, and nothing else:
neither the checkout nor any other command is on a path.
"""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest

import pallas_debug
from pallas_debug.views import scripts

pytest.importorskip("hatchling", reason="no hatchling: pip install hatchling")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ("node", "npm", "npx", "cc", "gcc", "make", "git")
STUB = '#!/bin/sh\necho "$0 $*" >> "{log}"\nexit 97\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


class Environment:
    """An empty virtual environment; `called` names the tools that were asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "called"
        self.run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        name = f"python{sysconfig.get_python_version()}"
        self.home = folder / "venv" / "lib" / name / "site-packages"
        # A path in a .pth file brings the packages there, but not an editable install.
        dependencies = pathlib.Path(sysconfig.get_path("purelib"))
        (self.home / "dependencies.pth").write_text(f"{dependencies}\n")
        (folder / "tools").mkdir()
        for tool in TOOLS:
            stub = folder / "tools" / tool
            stub.write_text(STUB.format(log=self.log))
            stub.chmod(0o755)

    def run(self, *words):
        """Runs a command; gives its exit code and what it printed."""
        path = [self.folder / "venv" / "bin", self.folder / "tools"]
        kept = {name: os.environ[name] for name in ("HOME",) if name in os.environ}
        done = subprocess.run(
            [*map(str, words)],
            cwd=self.folder,
            env=kept | {"PATH": os.pathsep.join(map(str, path))},
            capture_output=True,
            text=True,
            timeout=200,
        )
        return done.returncode, done.stdout, done.stderr

    def install(self, file):
        ours = ["--no-deps", "--no-index", "--ignore-installed", "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "--python", self.folder / "venv"]
        code, _, complaint = self.run(*pip, "install", "-q", *ours, file)
        assert code == 0, complaint

    def command(self, *words):
        return self.run(self.folder / "venv" / "bin" / "pallas-debug", *words)

    @property
    def called(self):
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture(scope="module", params=["*.whl", "*.tar.gz"], ids=["wheel", "sdist"])
def environment(request, built, tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("environment"))
    (file,) = built.glob(request.param)
    made.install(file)
    return made


def test_package_comes_from_the_environment_and_has_the_viewer(environment):
    code, said, complaint = environment.run(
        environment.folder / "venv" / "bin" / "python",
        "-c",
        "import pallas_debug; from pallas_debug.views import scripts;"
        "print(pallas_debug.__file__); print(scripts.is_built())",
    )
    assert code == 0, complaint
    home, is_built = said.split()
    assert pathlib.Path(home).is_relative_to(environment.home)
    assert is_built == "True"
    assert (environment.home / "pallas_debug" / "py.typed").is_file()


def test_command_says_the_version_of_the_package(environment):
    code, said, complaint = environment.command("--version")
    assert code == 0, complaint
    assert said.startswith(f"pallas-debug {pallas_debug.__version__},")
    (info,) = environment.home.glob("pallas_debug-*.dist-info")
    assert info.name == f"pallas_debug-{pallas_debug.__version__}.dist-info"
    assert (info / "licenses" / "LICENSE").is_file()


def test_demo_runs_and_its_trace_becomes_a_page_without_node(environment):
    code, said, complaint = environment.command("demo", "--save", "run.pldb")
    assert code == 0, complaint
    assert "finished" in said
    code, _, complaint = environment.command("export", "run.pldb", "run.html")
    assert code == 0, complaint
    page = (environment.folder / "run.html").read_text(encoding="utf-8")
    banner = scripts.script(scripts.EMBED).partition("*/")[0]
    assert banner in page
    assert "PallasDebug" in page
    assert not environment.called


def test_sdist_has_the_wheels_files_and_what_the_tests_need(built):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        packed = {name for name in file.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert packed <= names
    assert {
        f"pallas_debug/views/static/{name}.js" for name in ("widget", "embed")
    } <= packed
    assert {"LICENSE", "README.md", "CHANGELOG.md", "tests/helpers.py"} <= names
    assert {"binder/postBuild", "notebooks/01_first_look.ipynb"} <= names
    assert not any("node_modules/" in name or "__pycache__" in name for name in names)
    assert all(name.startswith("pallas_debug/") for name in packed)


def test_no_other_file_states_the_version(built):
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    package = (ROOT / "js_widgets" / "package.json").read_text()
    assert '"version"' not in package, "it is not published; ours is in __init__.py"
