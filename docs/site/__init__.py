"""How the documentation becomes a web site: staged, generated where it is, then built by Sphinx.

* `places`: where each file of the project stands on the site, and the links that lead there;
* `toctree`: the order of the pages, read off the links of the pages that list them;
* `reference`: the public modules of the packages, and a page for each;
* `docstrings`, `mathml`: extensions of Sphinx: the house's docstrings, formulas without scripts.
"""
