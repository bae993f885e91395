"""Tests of the browser's server, and of its page in a real Chromium."""
