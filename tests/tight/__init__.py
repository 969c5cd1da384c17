"""Tests of the tight upper ends."""
