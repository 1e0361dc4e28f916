"""Where a task may look: one adapter for each source type, all behind `ports.Source`."""
