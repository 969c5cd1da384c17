"""Tests of truncated concentrated privacy."""
