"""Tests of dp2theory.resque."""
