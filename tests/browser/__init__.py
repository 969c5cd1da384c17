"""Every report opened in a headless Chromium: ``python -m tests.browser`` (``make browser``)."""
