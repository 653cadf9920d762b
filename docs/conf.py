project = "pallas_debug"
author = "the pallas_debug authors"
extensions = ["myst_nb"]
nb_execution_mode = "off"  # tests execute the notebooks
html_title = "pallas_debug"
