"""Figures on ReSQue: rates, gates, and what makes a gate fail."""
