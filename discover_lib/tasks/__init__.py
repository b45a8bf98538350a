"""Questions about a run, one file a desk: its options, its work and its report."""
