"""Tests of the DP² theorems."""
