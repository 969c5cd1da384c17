"""Tests of pictures and pages; a package, so that they share results to draw."""
