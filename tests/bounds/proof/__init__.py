"""Tests of the rules of proof and of replays."""
