# SPDX-License-Identifier: MIT
"""Writes a line into ledger.txt of the project; its number is the receipt."""
import json
import sys

bill = json.load(sys.stdin)
with open("../../ledger.txt", "a+") as ledger:
    ledger.write(f"{bill['amount']} EUR to {bill['to']} for {bill['for']}\n")
    ledger.seek(0)
    print(json.dumps({"receipt": len(ledger.readlines())}))
