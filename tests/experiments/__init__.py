"""Tests of dp2theory.optimizers."""
