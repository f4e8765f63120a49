"""What is done with captured evidence: find, parse, store, query, report."""
