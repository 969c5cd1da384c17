"""Tests of the exact engine's parts."""
