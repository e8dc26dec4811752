"""Workflow Streams: named output logs of workflow runs, with offsets, keys, caps, an end, and retention."""
