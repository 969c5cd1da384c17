"""Reweighted stochastic queries (ReSQue) and ball acceleration, parallel and private.

Carmon, Jambulapati, Jin, Lee, Liu, Sidford and Tian, "ReSQueing Parallel and Private Stochastic
Convex Optimization", FOCS 2023.  docs/resque.md says what stands in which module; statements and
proofs are the theorems ``resque.*`` of ``bounds``.
"""
