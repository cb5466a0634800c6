"""Settings of the documentation site, for docs/build.py. No web font, no CDN: what is built needs no network."""

project = "Parley"
author = "The Parley developers"
project_copyright = "the Parley developers, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_typehints = "none"  # a docstring tells types in words
autodoc_member_order = "bysource"
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Parley"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, sans-serif", "font-stack--monospace": "ui-monospace, monospace"}
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
