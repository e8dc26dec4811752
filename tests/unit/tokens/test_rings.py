"""Key rings: their lines, what is wrong with bad ones, and what a rotation makes of them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import InvalidArgumentError, KeyRingError
from tailrace.tokens import Key, KeyRing, KeyState
from tailrace.tokens import ring as module

LONG_AGO = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
GOOD = Key.fresh(created=LONG_AGO)
ID, SECRET, CREATED, STATE = GOOD.line.split()


def states(ring: KeyRing) -> list[str]:
    return [key.state.value for key in ring.keys]


@given(
    st.lists(
        st.builds(
            Key,
            st.binary(min_size=4, max_size=4),
            st.binary(min_size=32, max_size=32).filter(lambda secret: len(set(secret)) >= 8),
            st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1)).map(
                lambda made: made.replace(microsecond=0, tzinfo=UTC)
            ),
            st.sampled_from(KeyState),
        ),
        max_size=4,
        unique_by=(lambda key: key.id, lambda key: key.secret),
    )
)
def test_a_ring_is_read_as_it_was_written(keys: list[Key]) -> None:
    ring = KeyRing([*keys, GOOD] if GOOD.id not in {key.id for key in keys} else keys)

    assert KeyRing.parse(ring.text).keys == ring.keys


def test_lines_may_end_in_semicolons_and_be_empty_or_comments() -> None:
    other = Key.fresh(created=LONG_AGO).line

    assert len(KeyRing.parse(f"{GOOD.line};{other}").keys) == 2
    assert len(KeyRing.parse(f"\n # of us\r\n{GOOD.line}\r\n\n").keys) == 1


# Named, because keys are random: several processes that share the tests have to find the same ones.
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no key is active"),
        (GOOD.line.replace("active", "retired"), "no key is active"),
        (GOOD.line.replace("active", "staged"), "no key is active"),
        (f"{GOOD.line}\n{GOOD.line}", "the same id"),
        (f"{GOOD.line}\n{GOOD.line.replace(ID, '00000000')}", "the same secret"),
        (f"# ours\n{ID} {SECRET} {CREATED}", "line 2: a key has four words"),
        (f"{ID.upper()}X {SECRET} {CREATED} {STATE}", "line 1: the first word"),
        (f"{ID} {SECRET[:-1]} {CREATED} {STATE}", "43 characters"),
        (f"{ID} {SECRET[:-1]}! {CREATED} {STATE}", "43 characters"),
        (f"{ID} {SECRET[:-1]}B {CREATED} {STATE}", "damaged at its end"),
        (f"{ID} {'A' * 43} {CREATED} {STATE}", "not random"),
        (f"{ID} {SECRET} yesterday {STATE}", "the third word"),
        (f"{ID} {SECRET} {CREATED} Active", "the fourth word"),
    ],
    ids=[
        *("empty", "retired", "staged", "an-id-twice", "a-secret-twice", "three-words", "no-id", "short", "odd-letter"),
        *("odd-end", "zeros", "no-time", "no-state"),
    ],
)
def test_a_bad_ring_is_told_by_line_and_word_without_its_secret(text: str, told: str) -> None:
    with pytest.raises(KeyRingError) as error:
        KeyRing.parse(text)

    assert told in str(error.value)
    assert SECRET[:8] not in str(error.value)
    assert error.value.__cause__ is None


def test_the_newest_active_key_seals_and_of_two_of_one_second_the_later_line() -> None:
    first, second = Key.fresh(created=LONG_AGO), Key.fresh(created=LONG_AGO)
    older = Key.fresh(created=LONG_AGO - timedelta(days=1))
    staged = Key.fresh(created=LONG_AGO + timedelta(days=1), state=KeyState.STAGED)

    assert KeyRing([first, second, older, staged]).sealing is second
    assert KeyRing([second, first, older, staged]).sealing is first


def test_a_rotation_adds_a_key_that_seals_even_if_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing.new()
    monkeypatch.setattr(module, "_now", lambda: LONG_AGO)
    rotated = ring.rotated()

    assert states(rotated) == ["active", "active"]
    assert rotated.sealing.id != ring.sealing.id
    assert KeyRing.parse(rotated.text).sealing == rotated.sealing


def test_a_staged_key_seals_from_the_next_rotation_on() -> None:
    staged = KeyRing.new().rotated(stage=True)
    with pytest.raises(KeyRingError, match="staged already"):
        staged.rotated(stage=True)

    assert states(staged) == ["active", "staged"]
    assert states(staged.rotated()) == ["active", "active"]
    assert staged.rotated().sealing.id == staged.keys[-1].id


def test_a_rotation_keeps_as_many_active_keys_as_it_is_told() -> None:
    ring = KeyRing.new().rotated().rotated()

    assert states(ring.rotated(keep=2)) == ["retired", "retired", "active", "active"]
    assert states(ring.rotated(stage=True, keep=2)) == ["retired", "active", "active", "staged"]
    with pytest.raises(InvalidArgumentError):
        ring.rotated(keep=0)


def test_an_id_that_is_no_keys_or_a_retired_ones_gets_a_secret_that_opens_nothing() -> None:
    ring = KeyRing.new().rotated(keep=1)
    retired, active = ring.keys

    assert ring.secret_for(active.id) == active.secret
    assert ring.secret_for(retired.id) == ring.secret_for(b"\0\0\0\0")
    assert ring.secret_for(retired.id) not in {key.secret for key in ring.keys}
    assert ring.secret_for(retired.id) != KeyRing(ring.keys).secret_for(retired.id)


def test_an_environment_holds_the_keys_or_names_their_file(tmp_path: pytest.TempPathFactory) -> None:
    path = tmp_path / "keys"
    path.write_text(GOOD.line)
    path.chmod(0o600)

    assert KeyRing.from_environment({"TAILRACE_TOKEN_KEYS": GOOD.line}).keys == (GOOD,)
    assert KeyRing.from_environment({"TAILRACE_TOKEN_KEYS_FILE": str(path)}).keys == (GOOD,)
    both = {"TAILRACE_TOKEN_KEYS": GOOD.line, "TAILRACE_TOKEN_KEYS_FILE": str(path)}
    for environ in ({}, both):
        with pytest.raises(KeyRingError, match="set one of"):
            KeyRing.from_environment(environ)
    with pytest.raises(KeyRingError, match="in TAILRACE_TOKEN_KEYS: line 1"):
        KeyRing.from_environment({"TAILRACE_TOKEN_KEYS": "x"})
