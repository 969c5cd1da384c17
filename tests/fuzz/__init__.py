"""Damaged files and random command lines."""
