"""refold's own benchmarks: one question each, answered by ratios measured side by side."""
