"""Pictures, tables and pages of results that are handed in; nothing is computed here.

Every function takes the plain ``result`` object that the command line prints as JSON, so that a
saved result can be drawn again without running anything.
"""
