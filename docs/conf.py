"""Settings of Sphinx. `python -m docs.site` stages what this builds; nothing is fetched."""

from dp2theory import __version__

project = "dp2theory"
author = "The dp2theory authors"
copyright = "The dp2theory authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.site.docstrings",
    "docs.site.mathml",
]
exclude_patterns = ["conf.py"]
root_doc = "index"

# Pages are written for a Git host too: its headings' anchors, its formulas, its tables.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 6
nb_execution_mode = "off"  # `make notebooks` executes them; the outputs are used if they are there

napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # as written: values of formulas are pages long
# Frameworks are gigabytes: the modules that import them are read all the same. python-flint, z3 and
# pytest must be installed (extras prove and dev).
autodoc_mock_imports = ["jax", "jax_privacy", "opacus", "optax", "torch"]
# Two classes of one name: an annotation does not say which, and either link would be a guess.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"dp2theory {__version__}"
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
