"""Make what the book and the package keep of long studies and of MovieLens-1M.

    python scripts/record.py                   says what there is
    python scripts/record.py published         measures what published.csv lacks of it
    python scripts/record.py ranks             trains X, Y and Z; downloads the data once
    python scripts/record.py ranks --data DIR  or reads them from here, as load_movielens does

To measure rows anew delete them, or the file; what is there stays as it is.
"""

import argparse
from pathlib import Path

import record_audits
import record_blind
import record_coverage
import record_estimates
import record_movielens
import record_published
from record_studies import run

from recsample.datasets.movielens import load_movielens, load_negatives

STUDIES = {
    "coverage": record_coverage.STUDY,
    "audits": record_audits.LIMITS,
    "audits_by_chances": record_audits.BY_CHANCES,
    "audit_plans": record_audits.PLANNED,
    "estimates": record_estimates.ESTIMATED,
    "estimators": record_estimates.COMPARED,
    "published": record_published.STUDY,
    "blind": record_blind.STUDY,
}
OF_MOVIELENS = ["ranks", "several", "lists"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=[*STUDIES, *OF_MOVIELENS])
    parser.add_argument("--data", type=Path, help="a folder, or for ranks an archive")
    given = parser.parse_args()
    if given.name in STUDIES:
        run(STUDIES[given.name])
    elif given.name:
        data = [load_movielens(given.data)]
        if given.name == "lists":
            data.append(load_negatives(given.data))
        record_movielens.record(given.name, record_movielens.DATA, *data)
    else:
        for name, study in STUDIES.items():
            print(f"{name:18}{len(study.cells):4} cells, {study.file.name}")
        for name in OF_MOVIELENS:
            print(f"{name:18}MovieLens-1M, recorded_{name}.npz")


if __name__ == "__main__":
    main()
