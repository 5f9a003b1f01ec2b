"""Questions to a publication, each answered with a 95 % interval. python analyse.py PUBLICATION"""

import sys

import lopub


def told(answer: lopub.Answer) -> str:
    return f"{answer.estimate:.3f} ({answer.low:.3f} to {answer.high:.3f}, {answer.how})"


def main(publication: str) -> None:
    study = lopub.open_study(publication)
    print("donate:            ", told(study.probability("donates")))
    print("mean age:          ", told(study.mean("age")))
    groups = {
        group: study.probability("donates", given=group)
        for group in ("income == 'affluent'", "income != 'affluent'")
    }
    for group, answer in groups.items():
        print(f"{group}:", told(answer))
    first, second = groups.values()
    # Outer bounds: both intervals hold at once nine times in ten or more, whatever their errors have to do with each other.
    least, most = first.low - second.high, first.high - second.low
    print(
        f"The difference lies between {least:.2f} and {most:.2f}:",
        "not decided." if least <= 0 <= most else "there is one.",
    )
    print(
        study.table("income", "donates")
    )  # its to_arrow(), to_pandas() and to_polars() hand it to other tools


if __name__ == "__main__":
    main(sys.argv[1])
