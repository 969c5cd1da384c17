"""Tests of dp2theory.problems."""
