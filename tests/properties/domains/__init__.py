"""What every argument of a public callable may be, written down once, and values outside of it."""
