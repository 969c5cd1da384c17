"""Proof steps, the rules that settle them, and the replay of a whole proof."""
