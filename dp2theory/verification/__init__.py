"""Empirical checks of what the toolkit claims: attacks on the releases of an optimizer."""
