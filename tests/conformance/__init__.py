"""Interface tests of accountants."""
