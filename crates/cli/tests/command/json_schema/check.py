"""Checks values against the schema of `wigwag describe --json`, and prints each that surprises.

Reads {"schema": …, "checks": [[pointer, value, whether it is valid], …]} from standard input.
"""

import json
import sys

from jsonschema import Draft202012Validator

given = json.load(sys.stdin)
schema = given["schema"]
Draft202012Validator.check_schema(schema)
for method in schema["methods"].values():
    Draft202012Validator.check_schema(method["arguments"])
    Draft202012Validator.check_schema(method["reply"])
for pointer, value, is_valid in given["checks"]:
    validator = Draft202012Validator(
        {**schema, "$ref": pointer}, format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    if validator.is_valid(value) != is_valid:
        print("valid" if not is_valid else "invalid", pointer, json.dumps(value))
print("checked", len(given["checks"]))
