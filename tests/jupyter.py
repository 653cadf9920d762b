"""A Jupyter server of its own for a test: nobody's settings, no request outside."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request

TOKEN = "e2e"
# Runs one cell of the open notebook and gives its outputs.
RUN = """async (number) => {
  const app = window.jupyterapp, panel = app.shell.currentWidget;
  await panel.sessionContext.ready;
  panel.content.deselectAll();
  panel.content.activeCellIndex = number;
  const cell = panel.content.widgets[number];
  await app.commands.execute("notebook:run-cell");
  return JSON.stringify(cell.model.outputs?.toJSON() ?? []);
}"""


def environment(home, **more):
    """The process's environment with settings of nobody else."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8"
    )
    names = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    folders = {name: str(home / folder) for name, folder in names.items()}
    return os.environ | folders | {"JAX_PLATFORMS": "cpu"} | more


NOT_OURS = "reading 'schema'"  # what Notebook says where it finds no settings
# Front end → its module, its application's name, the path of a notebook in it.
FRONTS = {
    "lab": ("jupyterlab", "LabApp", "lab/tree"),
    "notebook": ("notebook", "JupyterNotebookApp", "notebooks"),
}


@contextlib.contextmanager
def served(folder, front="lab", python=sys.executable, **more):
    """A running front end over a folder; gives its address.

    Args:
      folder: The root of its files; its log goes there, too.
      front: One of `FRONTS`.
      python: Whose front end, and whose kernels.
      **more: Environment variables.
    """
    module, app, _ = FRONTS[front]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "ServerApp.port_retries": 0,
        "IdentityProvider.token": TOKEN,
        "ServerApp.root_dir": folder,
        "LabApp.extension_manager": "readonly",  # Notebook is served by it, too
        "LabApp.news_url": "null",
        f"{app}.expose_app_in_browser": True,
    }
    flags = ["--no-browser", "--allow-root"]
    words = [f"--{name}={value}" for name, value in options.items()]
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [str(python), "-m", module, *flags, *words],
            env=environment(folder / ".home", **more),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _awaited(f"http://127.0.0.1:{port}", process, folder / "server.log")
        finally:
            process.terminate()
            process.wait(30)


def _awaited(address, process, log):
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api/status?token={TOKEN}", timeout=1)
            return address
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(log.read_text(encoding="utf-8"))


def opened(browser, address, path, *, cells, front="lab"):
    """A page with an open notebook; `outside` and `failed` have what should not be."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(90_000)
    page.outside, page.failed = [], []
    page.on(
        "pageerror",
        lambda error: (
            None if NOT_OURS in str(error) else page.failed.append(str(error))
        ),
    )
    page.on(
        "request",
        lambda request: (
            page.outside.append(request.url)
            if request.url.startswith("http") and "127.0.0.1" not in request.url
            else None
        ),
    )
    page.goto(f"{address}/{FRONTS[front][2]}/{path}?token={TOKEN}&reset")
    page.wait_for_function(
        "(cells) => window.jupyterapp?.shell.currentWidget?.content?.widgets?.length"
        " >= cells",
        arg=cells,
    )
    return page
