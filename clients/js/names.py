"""Look for names under which gzip makes the bundles smallest: ``npm run names`` in clients/js.

Names are swapped at random, and a swap stays unless the compressed code grows. The search begins with the names of the bundles
that are shipped, wherever the code is still the same, so that a small change needs few turns. What is found is committed in
names.json: the build puts it in, and gives the same bytes everywhere.
"""

import argparse
import difflib
import json
import random
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHIPPED = HERE.parents[1] / "src" / "lopub" / "pages" / "client"
LETTERS = "etnraisolucpmdfhgwybvkxjqzMSBAOTEDCINRPFLUHGVWJKQXYZ$_"
LIKELY = 10
"""Letters that are tried often, on average: those that are frequent anyway."""
SHORT = re.compile(r"[A-Za-z_$]{1,2}")
"""What can be a short name: not to be compared between two codes."""


@dataclass
class Naming:
    """A bundle's code under its present names, and which names stand in each other's way."""

    code: bytearray
    names: list[str]
    places: list[list[int]]
    rivals: list[set[int]]
    fixed: set[int]
    spare: dict[int, list[str]] = field(default_factory=dict)
    """By length: the names that there are."""

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Naming":
        """Of what the build says of a bundle."""
        bindings = plain["bindings"]
        together: dict[int, list[int]] = {}
        for i, binding in enumerate(bindings):
            for scope in binding["scopes"]:
                together.setdefault(scope, []).append(i)
        rivals = [
            {j for scope in each["scopes"] for j in together[scope]} - {i}
            for i, each in enumerate(bindings)
        ]
        naming = cls(
            code=bytearray(plain["code"].encode("ascii")),
            names=[each["name"] for each in bindings],
            places=[each["places"] for each in bindings],
            rivals=rivals,
            fixed={i for i, each in enumerate(bindings) if each["isFixed"]},
        )
        pairs = sorted(
            {
                name
                for i, name in enumerate(naming.names)
                if len(name) == 2 and i not in naming.fixed
            }
        )
        naming.spare = {1: list(LETTERS), 2: pairs}
        return naming

    def size(self) -> int:
        return len(zlib.compress(self.code, 9))

    def swap(self, group: set[int], one: str, other: str) -> None:
        for i in group:
            self.names[i] = other if self.names[i] == one else one
            for place in self.places[i]:
                self.code[place : place + len(one)] = self.names[i].encode()

    def group(self, start: int, other: str) -> set[int]:
        """What must swap these two names with each other if one binding takes the other name."""
        found, left = {start}, [start]
        while left:
            i = left.pop()
            wanted = other if self.names[i] == self.names[start] else self.names[start]
            met = {j for j in self.rivals[i] if self.names[j] == wanted} - found
            found |= met
            left += met
        return found


def tokens(code: str) -> list[str]:
    return re.findall(r"[\w$]+|\s+|.", code)


def begin(naming: Naming, earlier: str) -> None:
    """Take the names of an earlier code, wherever the two have the same words around them."""
    owner = {place: i for i, places in enumerate(naming.places) for place in places}
    now, before = tokens(naming.code.decode("ascii")), tokens(earlier)
    starts, end = [], 0
    for token in now:
        starts.append(end)
        end += len(token)
    hidden = [
        [SHORT.sub("?", token) if SHORT.fullmatch(token) else token for token in each]
        for each in (now, before)
    ]
    settled: set[int] = set(naming.fixed)
    for one, other, n in difflib.SequenceMatcher(
        None, hidden[0], hidden[1], autojunk=False
    ).get_matching_blocks():
        for k in range(n):
            i, wanted = owner.get(starts[one + k]), before[other + k]
            if i is None or i in settled or len(wanted) != len(naming.names[i]):
                continue
            group = naming.group(i, wanted) if wanted != naming.names[i] else set()
            if not group & settled:
                naming.swap(group, naming.names[i], wanted)
            settled.add(i)


def search(naming: Naming, turns: int, rng: random.Random) -> int:
    """Swap names for so many turns; the size that is reached."""
    movable = [
        i
        for i, name in enumerate(naming.names)
        if i not in naming.fixed and len(name) in naming.spare
    ]
    size = naming.size()
    for _ in range(turns):
        start = rng.choice(movable)
        one = naming.names[start]
        spare = naming.spare[len(one)]
        other = (
            spare[int(rng.expovariate(1 / LIKELY)) % len(spare)]
            if len(one) == 1
            else rng.choice(spare)
        )
        group = naming.group(start, other)
        if other == one or group & naming.fixed:
            continue
        naming.swap(group, one, other)
        tried = naming.size()
        if tried <= size:
            size = tried
        else:
            naming.swap(group, one, other)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, help="what `node build.mjs --plain FOLDER` has written"
    )
    parser.add_argument(
        "--turns",
        type=int,
        default=100_000,
        help="swaps to try for each bundle, about a thousand a second",
    )
    asked, found = parser.parse_args(), {}
    for file in sorted(asked.folder.iterdir()):
        plain = json.loads(file.read_text())
        naming = Naming.of(plain)
        begin(naming, (SHIPPED / file.stem).read_text())
        before, after = naming.size(), search(naming, asked.turns, random.Random(1))  # noqa: S311 - no secret is drawn
        print(f"{file.stem}: {before} bytes compressed, {after} under the names found")
        found[file.stem] = {"of": plain["of"], "names": " ".join(naming.names)}
    (HERE / "names.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
