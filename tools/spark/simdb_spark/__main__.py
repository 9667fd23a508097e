"""The entry of `python3 tools/spark/simdb_spark` and `spark-submit
tools/spark/simdb_spark/__main__.py`."""

import os
import sys

if not __package__:
    # Python puts the folder of a script into its path. The package is found from the folder above.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from simdb_spark.cli import main  # noqa: E402

main()
