"""Our accountants and DP² inside other packages; `make integrations` runs these."""
