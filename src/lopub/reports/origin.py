"""Where reports come from, as far as readers of what is made of them should know."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Origin:
    """a + b is that of both sets of reports."""

    is_simulated: bool = False
    """Whether some of the reports are those of simulated clients."""
    n_withdrawn: int = 0
    """Reports that were taken back by those who had sent them, and that are not among these."""

    def __add__(self, other: "Origin") -> "Origin":
        return Origin(self.is_simulated or other.is_simulated, self.n_withdrawn + other.n_withdrawn)

    def to_text(self) -> str:
        """For the metadata of a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: bytes | None) -> "Origin":
        """Out of a file's metadata; nothing is known of a file that does not say. ValueError where it is something else."""
        if text is None:
            return cls()
        found = json.loads(text)
        known = {"is_simulated": bool, "n_withdrawn": int}
        if (
            not isinstance(found, dict)
            or {key: type(value) for key, value in found.items()} != known
        ):
            raise ValueError("no such origin")
        if found["n_withdrawn"] < 0:
            raise ValueError("fewer than none withdrawn")
        return cls(**found)


PLAIN = Origin()
"""Of reports of which nothing special is known."""
