"""The links of the README lead to files. Those within the documentation are checked where it is built."""

import re
from pathlib import Path

TOP = Path(__file__).parents[2]


def test_the_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (TOP / "README.md").read_text(encoding="utf-8"))
    assert len(links) >= 10
    assert [link for link in links if not (TOP / link).is_file()] == []
