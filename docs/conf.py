"""Sphinx's configuration; the pages of the checks are printed from their docstrings."""

import os
import sys
from pathlib import Path

# The kernels on a ring of devices: JAX itself runs what surrounds them.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generated

import pallas_debug

project = "pallas_debug"
author = "the pallas_debug authors"
copyright = "the pallas_debug authors"
version = release = pallas_debug.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "pallas_debug.sphinxext",
]
exclude_patterns = ["_build", "_static"]
html_theme = "furo"
html_title = "pallas_debug"
html_static_path = ["_static"]
nb_execution_mode = "off"  # tests execute the notebooks
# The viewer's static page, not the widget, which needs a kernel.
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None)
]
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a check's page begins below its title

generated.write(HERE / "reference")
