"""The comparison is fair in its form: each system has what it does better, when to take it, and where that is from."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
ABOUT_US = {"Where Tailrace is weaker", "At a glance", "What is not known"}

SECTIONS = {
    part.partition("\n")[0]: part.partition("\n")[2]
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
}
SYSTEMS = sorted(SECTIONS.keys() - ABOUT_US)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_its_strengths_its_use_what_is_left_and_sources_elsewhere(system: str) -> None:
    body, _, sources = SECTIONS[system].partition("\nSources: ")
    parts = [part for part in body.strip().split("\n\n") if part.startswith("**")]
    assert [re.findall(r"^\*\*(Better|Take|Left)", part) for part in parts] == [
        ["Better"],
        ["Take"],
        ["Left"],
    ]
    assert re.findall(r"\]\((https://[^)]+)\)", sources)


def test_the_systems_are_those_that_people_ask_about_and_our_own_weaknesses_come_first() -> None:
    asked = "Redis Streams|pub/sub|Kafka|NATS|LISTEN|Durable Streams|Mercure|Centrifugo|DBOS|Temporal|Hosted"
    assert [name for name in asked.split("|") if not any(name in system for system in SYSTEMS)] == []
    assert next(iter(SECTIONS)) == "Where Tailrace is weaker"
    assert "choosing-a-store.md#measured" in SECTIONS["Where Tailrace is weaker"]
