"""Theorems on DP² (Li et al., ICLR 2023): delayed preconditioning under differential privacy."""
