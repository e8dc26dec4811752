"""Which names a namespace can have: the same in a database and in front of it, so that every one can be served."""

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.server.workflow import namespace_of as served
from tailrace.workflow.addressing import namespace_of as embedded
from tailrace.workflow.bounds import MAX_NAMESPACE_CHARS
from tailrace.workflow.errors import InvalidFieldsError
from tailrace.workflow.settings import WorkflowSettings


@pytest.mark.parametrize("name", ["default", "A-b", "two words", "x" * MAX_NAMESPACE_CHARS, "a/b%"])
def test_a_namespace_that_is_served_can_be_used_in_a_database(name: str) -> None:
    assert served(name) == embedded(name) == name.lower()
    assert WorkflowSettings(namespaces=frozenset({name.lower()})).namespaces == {name.lower()}


@pytest.mark.parametrize("name", ["\xe4", "a\n", " a", "a ", "x" * (MAX_NAMESPACE_CHARS + 1), "\ud800", "a\x7f"])
def test_what_no_header_carries_is_no_namespace_anywhere(name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        served(name)
    with pytest.raises(InvalidFieldsError):
        embedded(name)
    with pytest.raises(InvalidArgumentError):
        WorkflowSettings(namespaces=frozenset({name}))


def test_names_of_settings_are_in_lower_case_and_there_is_one() -> None:
    for names in ((), ("A",), ("",)):
        with pytest.raises(InvalidArgumentError):
            WorkflowSettings(namespaces=frozenset(names))
