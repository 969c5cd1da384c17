"""The laws against accountants of other packages, at locked versions; `make peers` runs these."""
