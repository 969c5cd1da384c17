"""Tests of the project itself: its tools, its packaging, its tree and its documents."""
