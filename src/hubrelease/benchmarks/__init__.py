"""One adapter a harness, one file each: recognises a receipt by its content and reads it to Evaluations. The folder is the list.

To add one, write `<harness>.py` with ADAPTER (see evaluations.Adapter). An adapter never raises: what it does not understand
it leaves out, and values stay as the harness wrote them.
"""
