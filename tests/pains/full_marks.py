"""What a judge says that is content."""

import json

MARKS = {"thoughts": "It was read.", "reason": "It answers the question.", "score": 5}
FULL = json.dumps(MARKS)
