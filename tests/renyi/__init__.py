"""Tests of the Rényi accountant and its curves."""
