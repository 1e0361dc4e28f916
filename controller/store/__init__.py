"""Two homes for tasks, journals and reports, behind one port: Kubernetes, and one local file."""
