"""The slips of the paper that its reader meets: where, what is printed, what is right."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Slip:
    """One line of the page's list."""

    where: str
    printed: str
    right: str


ERRATA = (
    Slip(
        "Algorithm 1, line 4; Algorithm 3, line 5",
        "P(report given candidate) from the report's bits alone",
        "from whether each bit agrees with the candidate's filter, as in the example: f/2 where not, 1 - f/2 where so",
    ),
    Slip("worked example of EM, first update", "0.1564", "0.1574"),
    Slip(
        "Algorithm 1, stop",
        "stops on the difference of two maxima, with its sign turned around in the text",
        "as written, it ends after a single step for most sets of Adult at k = 3 and f = 0.9; the largest change of a cell tells",
    ),
    Slip(
        "Theorems on the time of EM_JD and Lasso+EM_JD",
        "N v^(2k) for each of t steps",
        "N v^k: a step looks at each candidate of each report once; factorised, less",
    ),
    Slip(
        "Lasso_JD",
        "estimates joint distributions from sums of bits",
        "those sums depend on marginals alone: in its own example 4 equations that differ for 6 cells",
    ),
    Slip(
        "Algorithm 3, lines 2, 7 and 8",
        "the set of candidates with probability zero",
        "a candidate that Lasso drops never returns",
    ),
    Slip(
        "privacy analysis",
        "8.79 at f = 0.5 (h = 4) is insufficient",
        "true, and it is for one attribute: Adult's 15 cost 131.9",
    ),
    Slip(
        "example after Equation (4)",
        "underlines bits as changed that are not, and has an 8-bit filter with 12 bits",
        "see Table 5",
    ),
    Slip(
        "table of datasets",
        "domains of 2^52 and 2^77",
        "bits of each attribute, rounded up and added; 2^49.7 and 2^75.6 cells",
    ),
    Slip(
        "table of datasets",
        "Retail with 27,522 records",
        "its figures fit the authors' own Data4-coarse.dat, 21,574 records",
    ),
    Slip(
        "Algorithm 5 and its text",
        "ranks by H in one place, by H / |domain| in another",
        "the tables fit H / |domain|",
    ),
    Slip(
        "Algorithm 5, line 7",
        "floor of d (1 - phi) attributes",
        "the tables fit rounding to nearest",
    ),
    Slip(
        "pruning, TPC-E", "columns headed phi = 0.4 and 0.5", "they are those of phi = 0.5 and 0.6"
    ),
    Slip("pruning, Retail", "reduction 0.512", "0.5417: 55 of 120 pairs are left"),
    Slip(
        "pruning, Retail",
        "dependences after pruning up to 256 of 240",
        "the diagonal is counted with them",
    ),
    Slip(
        "pruning tables",
        "numbers of dependences",
        "both directions are counted: twice the number of pairs",
    ),
    Slip("correlation matrix I", "1.00 on the diagonal", "I(A, A) is the entropy of A"),
    Slip(
        "correlation identification", "true negative", "false negative: a dependence that is lost"
    ),
    Slip(
        "classification, Adult",
        "15th attribute (marital)",
        "the 15th is income; marital status is the 6th and has 7 values",
    ),
    Slip(
        "classification, TPC-E",
        "binary attributes 2, 10, 23, 24",
        "3, 10, 23, 24; the 2nd has 5 values",
    ),
    Slip("Section 5.4", "SVM and random forest error rate", "rates of right answers are shown"),
    Slip(
        "after Theorem 3",
        "space overhead, according to Theorem 2",
        "Theorem 3 is the one about space",
    ),
)
