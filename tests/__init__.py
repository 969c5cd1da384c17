"""Tests; a package, so that its helper modules can be imported by name."""
