"""Tests of dp2theory.verification."""
