"""Frames of all libraries that read tables, files of Parquet, and clusters of Dask and Spark."""

import os
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = [
    # Narwhals says at every use that a plug-in of its own is to read Dask one day.
    pytest.mark.filterwarnings("ignore:Dask support is moving"),
    # PySpark says that it does not know all of the newest pandas, of which nothing is used here.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]


def parquet(folder, frame, parts=4):
    for i in range(parts):
        frame.iloc[i::parts].to_parquet(folder / f"part-{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def spark():
    """Two executors of Spark, processes of their own that are started again when they die."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    home = Path(os.environ.setdefault("SPARK_HOME", str(Path(sql.__file__).parents[1])))
    soon = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short work is not worth the best code
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": soon,
        "spark.executor.extraJavaOptions": soon,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]")
    for key, value in options.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    application = session.sparkContext.applicationId
    yield session
    session.stop()
    shutil.rmtree(home / "work" / application)  # what its workers logged


@pytest.fixture(scope="module")
def cluster():
    """Two workers of Dask, processes of their own that are started again when they die."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def in_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": in_polars,
    "polars, lazily": lambda frame: in_polars(frame).lazy(),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame),
    "duckdb": lambda frame: pytest.importorskip("duckdb").from_df(frame),
    "dask": lambda frame: pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3),
}
