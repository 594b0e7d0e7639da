"""Validates an OpenAPI document on standard input against the specification of its version."""

import json
import sys

from openapi_spec_validator import OpenAPIV31SpecValidator

errors = [error.message for error in OpenAPIV31SpecValidator(json.load(sys.stdin)).iter_errors()]
print("\n".join(errors) or "valid")
sys.exit(bool(errors))
