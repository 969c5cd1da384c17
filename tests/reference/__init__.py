"""Slow, independent reference values for the accountants.

Nothing here imports ``accountants``: the modules share no code, no node rule and no contour with
the engine they judge.

==================  ==============================================================================
module              method
==================  ==============================================================================
``pairs``           the dominating pairs, written down once, in three arithmetics
``closed_forms``    T = 1 and q = 1 in mpmath; T = 2 and 3 by nested quadrature
``contour``         Laplace inversion in python-flint ball arithmetic, two parameter sets that
                    must agree
``convolution``     repeated positive convolution of the loss density; no transform at all
``generate``        writes the JSON tables in ``data/``
==================  ==============================================================================
"""
