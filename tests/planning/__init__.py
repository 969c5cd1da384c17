"""Tests of the planner; a package, so that they share a small problem."""
