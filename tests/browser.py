"""A headless Chromium for tests of the viewer, without a server and without a network.

`Page` mounts the widget's module on a model of our own, which speaks anywidget's small
interface to the real Python widget, or opens a static page. Both record errors.
"""

import base64
import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
)

# The part of anywidget's model that the module uses; `py` is Python's ear.
MODEL = """
window.mountModule = async (source, state) => {
  const handlers = {};
  const model = {
    state, dirty: {},
    get: (name) => model.state[name],
    set(name, value) { model.state[name] = model.dirty[name] = value; },
    save_changes() {
      const changed = model.dirty;
      model.dirty = {};
      py({ method: "update", state: changed });
    },
    send: (content) => py({ method: "custom", content }),
    on: (event, handler) => (handlers[event] ??= new Set()).add(handler),
    off: (event, handler) => handlers[event]?.delete(handler),
    fire: (event, ...rest) => handlers[event]?.forEach((handler) => handler(...rest)),
  };
  window.model = model;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  window.moduleAddress = url;
  const { default: widget } = await import(url);
  window.cleanup = widget.render({ model, el: document.getElementById("viewer") });
};
window.fromKernel = (content, parts) => model.fire("msg:custom", content, parts.map(
  (part) => new DataView(Uint8Array.from(atob(part), (c) => c.charCodeAt(0)).buffer)));
window.stateFromKernel = (state) => {
  Object.assign(model.state, state);
  for (const name in state) model.fire(`change:${name}`);
};
"""


def chromium():
    """The path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )


def launch(playwright):
    """A running browser."""
    return playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))


class Page:
    """One page without a network; `errors` has what went wrong in it."""

    def __init__(self, browser, width=1280, height=800):
        size = {"width": width, "height": height}
        self.context = browser.new_context(
            offline=True, viewport=size, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda said: (
                self.errors.append(said.text) if said.type == "error" else None
            ),
        )

    def open_static(self, path):
        """Opens a page from disk."""
        self.page.goto(path.as_uri())
        return self

    def mount(self, widget, above=0, policy=""):
        """Mounts a Python widget as a notebook would, with so many pixels above it."""
        page = self.page

        def send(content, buffers=None):
            parts = [base64.b64encode(part).decode() for part in buffers or ()]
            page.evaluate("([c, b]) => { fromKernel(c, b) }", [content, parts])

        def hear(message):
            if message["method"] == "update":
                widget.set_state(message["state"])
            else:
                widget._handle_custom_msg(message["content"], [])

        widget.send = send
        page.expose_function("py", hear)
        space = f"<div style='height:{above}px'></div>"
        head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        body = f"{space}<div id=viewer></div>{space}<script nonce=test>{MODEL}</script>"
        page.set_content(f"<!doctype html>{head if policy else ''}{body}")
        state = {"view_state": widget.view_state}
        page.evaluate("([s, t]) => mountModule(s, t)", [widget._esm, state])
        widget.observe(
            lambda change: page.evaluate(
                "(s) => { stateFromKernel({view_state: s}) }", change["new"]
            ),
            "view_state",
        )
        return self

    def text(self):
        """The text of the viewer, which lives in a shadow root."""
        root = "document.getElementById('viewer').shadowRoot"
        return self.page.evaluate(f"{root}?.querySelector('.pd-root')?.innerText ?? ''")

    def wait_for(self, words):
        """Waits until the viewer says something."""
        root = "document.getElementById('viewer').shadowRoot"
        self.page.wait_for_function(
            f"(words) => {root}?.querySelector('.pd-root')?.innerText.includes(words)",
            arg=words,
            timeout=20_000,
        )
        return self

    def press(self, key):
        """A key on the viewer, which takes the focus first."""
        self.page.evaluate(
            "document.getElementById('viewer').shadowRoot.querySelector('.pd-frame')"
            ".focus()"
        )
        self.page.keyboard.press(key)

    def close(self):
        """Ends the page."""
        self.context.close()
