"""Theorems on ReSQue (Carmon et al., FOCS 2023): reweighted stochastic queries."""
