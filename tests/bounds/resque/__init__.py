"""Tests of the ReSQue theorems."""
