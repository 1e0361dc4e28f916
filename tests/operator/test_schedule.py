"""The rules of the work queue, each at the moment it is about: the clock is a number."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller.ports import TaskKey
from controller.schedule import BackOff, Schedule

A, B, C = TaskKey("one", "a"), TaskKey("one", "b"), TaskKey("two", "c")
BACK_OFF = BackOff(initial_seconds=1, maximum_seconds=8)


def schedule(jitter: float = 1.0) -> Schedule[TaskKey]:
    return Schedule(lambda: jitter, BACK_OFF)


# S1.25, E16
def test_a_key_that_is_added_often_waits_once() -> None:
    keys = schedule()
    for _ in range(3):
        keys.add(A, now=0)
    assert len(keys) == 1
    assert keys.take(now=0) == A
    assert keys.take(now=0) is None


def test_a_busy_key_is_not_handed_out_again() -> None:
    keys = schedule()
    keys.add(A, now=0)
    assert keys.take(now=0) == A
    keys.add(A, now=0)
    assert keys.take(now=0) is None
    assert keys.is_busy(A)


def test_changes_while_a_key_is_busy_mean_once_more() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.take(now=0)
    keys.add(A, now=0)
    keys.add(A, now=0)
    keys.done(A, after=None, now=1)
    assert keys.take(now=1) == A
    keys.done(A, after=None, now=1)
    assert keys.take(now=1) is None
    assert len(keys) == 0


def test_a_change_while_busy_is_not_delayed_by_the_result() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.take(now=0)
    keys.add(A, now=0)
    keys.done(A, after=60, now=0)
    assert keys.take(now=0) == A


def test_results_are_at_once_or_later_or_on_change() -> None:
    keys = schedule()
    for key, after in ((A, 0.0), (B, 5.0), (C, None)):
        keys.add(key, now=0)
        assert keys.take(now=0) == key
        keys.done(key, after, now=0)
        if after == 0:
            assert keys.take(now=0) == key
            keys.done(key, None, now=0)
    assert keys.next_due() == 5
    assert keys.take(now=4.9) is None
    assert keys.take(now=5) == B


def test_a_change_ends_a_delay() -> None:
    keys = schedule()
    keys.add_after(A, 100, now=0)
    keys.add(A, now=1)
    assert keys.take(now=1) == A
    keys.done(A, None, now=1)
    assert keys.take(now=1000) is None
    assert keys.next_due() is None


def test_the_earlier_of_two_delays_counts() -> None:
    keys = schedule()
    keys.add_after(A, 10, now=0)
    keys.add_after(A, 3, now=0)
    keys.add_after(A, 20, now=0)
    assert keys.next_due() == 3


def test_a_delay_for_a_ready_or_busy_key_changes_nothing() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.add_after(A, 5, now=0)
    assert keys.next_due() is None
    keys.take(now=0)
    keys.add_after(A, 5, now=0)
    assert keys.next_due() is None


# S1.25
def test_failures_in_a_row_double_the_delay_up_to_the_maximum() -> None:
    keys = schedule()
    now = 0.0
    delays = []
    for _ in range(5):
        keys.add(A, now)
        assert keys.take(now) == A
        delay = keys.failed(A, now)
        assert delay is not None
        delays.append(delay)
        now += delay
    assert delays == [1, 2, 4, 8, 8]


def test_a_success_ends_the_row_of_failures() -> None:
    keys = schedule()
    for _ in range(3):
        keys.add(A, now=0)
        keys.take(now=0)
        keys.failed(A, now=0)
    keys.add(A, now=0)
    keys.take(now=0)
    keys.done(A, after=0, now=0)
    assert keys.take(now=0) == A
    assert keys.failed(A, now=0) == 1


def test_jitter_takes_up_to_half_of_a_delay() -> None:
    for jitter, expected in ((0.0, 0.5), (0.5, 0.75), (1.0, 1.0)):
        keys = schedule(jitter)
        keys.add(A, now=0)
        keys.take(now=0)
        assert keys.failed(A, now=0) == expected


def test_the_delay_never_overflows() -> None:
    assert BACK_OFF.seconds(100_000, 1.0) == 8


def test_a_change_ends_a_back_off() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.take(now=0)
    keys.failed(A, now=0)
    keys.add(A, now=0.1)
    assert keys.take(now=0.1) == A


def test_a_change_does_not_end_the_wait_that_the_server_asked_for() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.take(now=0)
    assert keys.failed(A, now=0, retry_after=30) == 30
    keys.add(A, now=1)
    assert keys.take(now=29) is None
    assert keys.take(now=30) == A


def test_a_short_retry_after_does_not_shorten_the_back_off() -> None:
    keys = schedule()
    for expected in (1, 2, 4):
        keys.add(A, now=100)
        keys.take(now=100)
        assert keys.failed(A, now=100, retry_after=0) == expected


def test_namespaces_take_turns() -> None:
    keys = schedule()
    crowd = [TaskKey("crowded", f"task-{n}") for n in range(4)]
    for key in (*crowd, TaskKey("small", "x"), TaskKey("small", "y")):
        keys.add(key, now=0)
    order = [taken.namespace for _ in range(6) if (taken := keys.take(now=0))]
    assert order == ["crowded", "small", "crowded", "small", "crowded", "crowded"]


def test_a_forgotten_key_is_not_handed_out() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.add(B, now=0)
    keys.add_after(C, 1, now=0)
    keys.forget(A)
    keys.forget(C)
    assert keys.take(now=10) == B
    assert keys.take(now=10) is None


def test_what_a_worker_says_of_a_forgotten_key_does_not_count() -> None:
    for result in (0.0, 5.0):
        keys = schedule()
        keys.add(A, now=0)
        keys.take(now=0)
        keys.forget(A)
        keys.done(A, after=result, now=0)
        assert len(keys) == 0
    keys.add(A, now=0)
    keys.take(now=0)
    keys.forget(A)
    assert keys.failed(A, now=0) is None
    assert len(keys) == 0


def test_a_key_that_comes_back_while_the_old_work_ends_is_looked_at() -> None:
    keys = schedule()
    keys.add(A, now=0)
    keys.take(now=0)
    keys.forget(A)
    keys.add(A, now=0)
    keys.done(A, after=None, now=0)
    assert keys.take(now=0) == A


def test_delays_can_be_dropped() -> None:
    keys = schedule()
    keys.add_after(A, 1, now=0)
    keys.add(B, now=0)
    keys.drop_delayed()
    assert keys.next_due() is None
    assert keys.take(now=10) == B
    assert keys.take(now=10) is None


KEYS = st.sampled_from([TaskKey(namespace, name) for namespace in "ab" for name in "xyz"])


class ScheduleMachine(RuleBasedStateMachine):
    """Any order of calls: no key is lost, and none is handed out twice."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: Schedule[TaskKey] = Schedule(lambda: 0.5, BACK_OFF)
        self.now = 0.0
        self.busy: set[TaskKey] = set()
        self.owed: set[TaskKey] = set()
        """Keys for which something changed since they were last handed out."""

    @rule(key=KEYS)
    def add(self, key: TaskKey) -> None:
        self.keys.add(key, self.now)
        self.owed.add(key)

    @rule(key=KEYS, seconds=st.floats(0, 10))
    def add_after(self, key: TaskKey, seconds: float) -> None:
        self.keys.add_after(key, seconds, self.now)

    @rule(key=KEYS)
    def forget(self, key: TaskKey) -> None:
        self.keys.forget(key)
        self.owed.discard(key)

    @rule(seconds=st.floats(0, 20))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        key = self.keys.take(self.now)
        if key is not None:
            assert key not in self.busy
            self.busy.add(key)
            self.owed.discard(key)

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), after=st.none() | st.floats(0, 10))
    def done(self, data: st.DataObject, after: float | None) -> None:
        key = data.draw(st.sampled_from(sorted(self.busy)))
        self.busy.remove(key)
        self.keys.done(key, after, self.now)

    @precondition(lambda self: self.busy)
    @rule(data=st.data(), retry_after=st.none() | st.floats(0, 10))
    def failed(self, data: st.DataObject, retry_after: float | None) -> None:
        key = data.draw(st.sampled_from(sorted(self.busy)))
        self.busy.remove(key)
        self.keys.failed(key, self.now, retry_after)

    @invariant()
    def busy_keys_are_known(self) -> None:
        assert all(self.keys.is_busy(key) for key in self.busy)

    def teardown(self) -> None:
        for busy in sorted(self.busy):
            self.keys.done(busy, None, self.now)
        handed_out = set()
        self.now += 1000
        while (key := self.keys.take(self.now)) is not None:
            assert key not in handed_out
            handed_out.add(key)
        assert self.owed <= handed_out
        assert self.keys.next_due() is None


TestAnyOrderOfCalls = ScheduleMachine.TestCase
TestAnyOrderOfCalls.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
