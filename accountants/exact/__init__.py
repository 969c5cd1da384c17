"""Exact composition: the δ(ε) of a whole run, with an error bar that is part of the answer."""
