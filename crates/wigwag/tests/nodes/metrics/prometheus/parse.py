"""Reads a page in the text format of Prometheus from standard input, and prints its samples as JSON:
[[type, help, name, labels, value], …].
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

samples = []
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        samples.append(
            [family.type, family.documentation, sample.name, sample.labels, sample.value]
        )
print(json.dumps(samples))
