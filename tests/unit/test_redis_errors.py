"""What a server answers becomes an error of ours that says what to do, and whether waiting helps."""

import pytest
import redis

from tailrace.backends.redis.errors import explain
from tailrace.errors import StoreUnusableError

WAITING_HELPS = [
    ("LOADING Redis is loading the dataset in memory", "still loading"),
    ("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "busy"),
    ("UNKILLABLE Sorry the script already executed write commands", "busy"),
    ("READONLY You can't write against a read only replica.", "connect to the primary"),
    ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "primary is away"),
    ("CLUSTERDOWN The cluster is down", "cluster that is down"),
    ("TRYAGAIN Multiple keys request during rehashing of slot", "moving this topic"),
    ("NOREPLICAS Not enough good replicas to write.", "fewer replicas"),
]
WAITING_DOES_NOT = [
    ("WRONGTYPE Operation against a key holding the wrong kind of value", "the-keys"),
    ("NOAUTH Authentication required.", "password"),
    ("WRONGPASS invalid username-password pair or user is disabled.", "password"),
    ("NOPERM this user has no permissions to run the 'xadd' command", "'xadd'"),
    ("OOM command not allowed when used memory > 'maxmemory'.", "nothing was stored"),
    ("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist", "nothing was stored"),
    ("CROSSSLOT Keys in request don't hash to the same slot", "redis+cluster://"),
    ("MOVED 866 127.0.0.1:7001", "redis+cluster://"),
    ("ERR DB index is out of range", "no database of that number"),
    ("ERR invalid DB index", "no database of that number"),
    ("ERR Protocol error: invalid bulk length", "proto-max-bulk-len"),
    ("ERR unknown command 'EVALSHA'", "6.2 or newer"),
    ("ERR The ID specified in XADD is equal or smaller than the target stream top item", "the-keys"),
]


@pytest.mark.parametrize(("said", "told"), WAITING_HELPS)
def test_what_passes_is_waited_for(said: str, told: str) -> None:
    error = explain(redis.ResponseError(said), "this server", "the-keys")
    assert not isinstance(error, StoreUnusableError)
    assert told in str(error)
    assert said in str(error)


@pytest.mark.parametrize(("said", "told"), WAITING_DOES_NOT)
def test_what_does_not_pass_is_told_with_what_to_do(said: str, told: str) -> None:
    error = explain(redis.ResponseError(said), "this server", "the-keys")
    assert isinstance(error, StoreUnusableError)
    assert told in str(error)
    assert said in str(error)


@pytest.mark.parametrize("frame", ["ERR Error running script (call to f_1): @user_script:9: {}", "{} script: f_1"])
@pytest.mark.parametrize("said", ["LOADING x", "READONLY x", "MASTERDOWN x"])
def test_a_code_from_within_a_script_counts(frame: str, said: str) -> None:
    within = explain(redis.ResponseError(frame.format(said)), "this server")
    assert str(within).partition("[")[0] == str(explain(redis.ResponseError(said), "this server")).partition("[")[0]
