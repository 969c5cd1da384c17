"""Laws that every privacy accountant obeys, as properties to test anybody's accountant with.

`check.check_accountant` runs them, `catalogue.laws` lists them, `adapters` finds the accountants
of other packages, `enclosure` confirms a violation independently of our own engines.
"""
