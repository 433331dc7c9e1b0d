# SPDX-License-Identifier: MIT
"""A scorer of one's own: 1 for at most twelve words, less for more."""
import json
import sys

words = len(json.load(sys.stdin)["output"].split())
print(json.dumps(min(1, 12 / max(words, 1))))
