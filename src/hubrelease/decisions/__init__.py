"""Decision benchmarks: rows of two runs, paired one to one, and what can be said about them. One idea a file, pure Python.

Formats: schemas/decision-row.schema.json (a line of a rows file) and schemas/decision-report.schema.json.
"""
