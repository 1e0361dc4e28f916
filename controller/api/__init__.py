"""The four kinds, their conditions, reasons and errors: pure data, the CRDs' only source."""
