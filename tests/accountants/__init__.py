"""Tests of the accountants."""
