"""Questions to a publication, each answered with a 95 % interval. python analyse.py PUBLICATION"""

import sys

import pyarrow.csv

import lopub


def told(answer: lopub.Answer) -> str:
    return f"{answer.estimate:.3f} ({answer.low:.3f} to {answer.high:.3f}, {answer.how})"


def main(publication: str) -> None:
    study = lopub.open_study(publication)
    print("donate:            ", told(study.probability("donates")))
    print("mean age:          ", told(study.mean("age")))
    groups = {group: study.probability("donates", given=group) for group in ("income == 'affluent'", "income != 'affluent'")}
    for group, answer in groups.items():
        print(f"{group}:", told(answer))
    first, second = groups.values()
    apart = first.low > second.high or second.low > first.high
    print("The intervals", "do not overlap: a difference." if apart else "overlap: no difference can be claimed.")
    pyarrow.csv.write_csv(study.table("income", "donates").to_arrow(), "table.csv")


if __name__ == "__main__":
    main(sys.argv[1])
