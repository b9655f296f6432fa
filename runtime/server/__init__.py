"""The HTTP server of a release's runtime: the decision API over one engine. Only app.py and what it starts need Starlette and uvicorn."""
