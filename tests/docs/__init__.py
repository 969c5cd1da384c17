"""The documentation: its pages, its site, and that it speaks of the code as it is."""
