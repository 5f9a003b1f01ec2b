"""Logs: one JSON object a line, of events. No request is logged, and no message carries content, an address or an agent."""

import json
import logging
import sys
import time
import traceback
from typing import Any

log = logging.getLogger("lopub.collector")


class JsonLines(logging.Formatter):
    """time, level, event, and what the event states; of an exception only its kind and where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        members: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
            **getattr(record, "stated", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            members["exception"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            members["at"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]
            ]
        return json.dumps(members)


def log_event(event: str, level: int = logging.INFO, **stated: Any) -> None:
    """Log an event with what it states."""
    log.log(level, event, extra={"stated": stated})


def log_to_standard_error() -> None:
    """Every log of the process as JSON lines; uvicorn's own from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    log.setLevel(logging.INFO)
