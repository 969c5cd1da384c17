"""Truncated concentrated privacy: curves, amplification by sampling, an accountant."""
