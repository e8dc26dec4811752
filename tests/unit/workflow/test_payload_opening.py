"""A storage of payloads is named by a URL, and what is wrong with one is told before anything is touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.workflow.payloads import open_driver


@pytest.mark.parametrize(
    "url",
    [
        "/var/lib/payloads",
        "file://relative/dir",
        "file:///dir?mode=0600",
        "http://bucket/prefix",
        "s3://",
        "s3:///prefix",
        "s3://AB/prefix",
        "s3://Bucket/prefix",
        "s3://key:secret@bucket/prefix",
        "s3://bucket/a//b",
        "s3://bucket/../b",
        "s3://bucket/a b",
        "s3://bucket?secret=x",
        "s3://bucket?region=a&region=b",
    ],
)
def test_a_url_that_names_no_storage_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        open_driver(url)
    assert "secret@" not in str(error.value)


def test_a_directory_is_made_where_it_is_named(tmp_path: Path) -> None:
    driver = open_driver(f"file://{tmp_path}/some/where")

    assert driver.base == f"file://{tmp_path}/some/where/"
    assert (tmp_path / "some" / "where").is_dir()


def test_without_the_extra_only_s3_is_refused_and_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["obstore"] = None
import tailrace.workflow.envelope
from tailrace.workflow.payloads import open_driver
open_driver("file://{tmp_path}")
try:
    open_driver("s3://bucket")
except ModuleNotFoundError as missing:
    print(missing)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout == "payloads in S3 need the package obstore: pip install 'tailrace[s3]'\n"
