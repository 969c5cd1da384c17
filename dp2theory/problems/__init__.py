"""Learning problems: losses whose clipped per-record gradients are summed without loops.

Modules are imported one by one (``dp2theory.problems.registry`` is the usual entry), so that
importing the package costs nothing.
"""
