"""bounds: the theorems on delayed preconditioning and ReSQue as objects.

A theorem will be one object that carries its assumptions, statement, kind (tight, upper, lower,
rate), proof steps and evaluation. The package stands alone: it imports neither `accountants` nor
`dp2theory`. No theorem is here yet.
"""
