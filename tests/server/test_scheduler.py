"""One at a time, first come first served, a bounded line; who leaves the line is never run, and a freed turn is never lost."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
import runtime_path  # noqa: F401
from server.bodies import MAX_BODY_BYTES, ClientLeft, Patience, Upload, declared_length
from server.budget import Budget
from server.metrics import Metrics
from server.refusals import Refused
from server.scheduler import Scheduler, Worker


def run(story: Callable[[Scheduler], Coroutine[Any, Any, Any]], capacity: int = 4) -> Any:
    """A story with a scheduler of its own, which must be idle at the end."""

    async def told() -> Any:
        scheduler = Scheduler(Worker(), capacity)
        found = await asyncio.wait_for(story(scheduler), 10)
        while scheduler.running:
            await asyncio.sleep(0.001)
        assert not scheduler.line
        scheduler.worker.stop()
        return found

    return asyncio.run(told())


def test_results_and_errors_come_back_to_their_callers() -> None:
    async def story(scheduler: Scheduler) -> None:
        assert await scheduler.run(lambda stop: 1) == 1
        with pytest.raises(ZeroDivisionError):
            await scheduler.run(lambda stop: 1 / 0)
        assert await scheduler.run(lambda stop: 2) == 2

    run(story)


def test_first_come_first_served_one_at_a_time() -> None:
    order: list[int] = []

    async def story(scheduler: Scheduler) -> None:
        await asyncio.gather(*(scheduler.run(lambda stop, n=n: order.append(n)) for n in range(5)))

    run(story)
    assert order == [0, 1, 2, 3, 4]


def test_a_full_line_is_refused_and_says_when_to_come_again() -> None:
    gate = threading.Event()

    async def story(scheduler: Scheduler) -> None:
        held = [asyncio.create_task(scheduler.run(lambda stop: gate.wait(5))) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as caught:
            await scheduler.run(lambda stop: None)
        assert (caught.value.status, caught.value.error) == (503, "queue_full")
        assert caught.value.retry_after
        gate.set()
        await asyncio.gather(*held)
        assert await scheduler.run(lambda stop: 1) == 1

    run(story, capacity=2)


def test_who_leaves_the_line_is_never_run() -> None:
    gate, ran = threading.Event(), []

    async def story(scheduler: Scheduler) -> None:
        first = asyncio.create_task(scheduler.run(lambda stop: gate.wait(5)))
        second = asyncio.create_task(scheduler.run(lambda stop: ran.append(2)))
        third = asyncio.create_task(scheduler.run(lambda stop: ran.append(3)))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0)
        assert scheduler.waiting == 1
        gate.set()
        await asyncio.gather(first, third)

    run(story)
    assert ran == [3]


def test_who_leaves_while_it_runs_is_told_to_stop_and_keeps_the_device_until_it_has() -> None:
    gate, seen = threading.Event(), []

    def work(stop: threading.Event) -> None:
        gate.wait(5)
        seen.append(stop.is_set())

    async def story(scheduler: Scheduler) -> None:
        leaver = asyncio.create_task(scheduler.run(work))
        await asyncio.sleep(0.01)
        leaver.cancel()
        await asyncio.sleep(0.01)
        assert scheduler.running
        after = asyncio.create_task(scheduler.run(lambda stop: seen.append("after")))
        await asyncio.sleep(0.01)
        gate.set()
        await after

    run(story)
    assert seen == [True, "after"]


def test_closing_lets_the_running_end_and_sends_the_waiting_away() -> None:
    gate = threading.Event()

    async def story(scheduler: Scheduler) -> None:
        first = asyncio.create_task(scheduler.run(lambda stop: gate.wait(5)))
        second = asyncio.create_task(scheduler.run(lambda stop: None))
        await asyncio.sleep(0.01)
        scheduler.close()
        for late in (second, asyncio.create_task(scheduler.run(lambda stop: None))):
            with pytest.raises(Refused, match="closing"):
                await late
        gate.set()
        assert await first is True

    run(story)


@pytest.mark.parametrize("seed", range(20))
def test_no_turn_is_lost_whoever_leaves_and_whenever(seed: int) -> None:
    chance = random.Random(seed)
    most, now, ran = itertools.count(), [0, 0], []

    def work(stop: threading.Event) -> None:
        now[0] += 1
        now[1] = max(now)
        ran.append(next(most))
        now[0] -= 1

    async def story(scheduler: Scheduler) -> None:
        tasks = []
        for _ in range(60):
            tasks.append(asyncio.create_task(scheduler.run(work)))
            if chance.random() < 0.5:
                chance.choice(tasks).cancel()
            if chance.random() < 0.4:
                await asyncio.sleep(chance.choice((0, 0, 0.0005)))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await scheduler.run(lambda stop: "still served") == "still served"

    run(story, capacity=100)
    assert now == [0, 1]


# ------------------------------------------------------------------------------------------------------------- bodies


def read(messages: list[dict[str, Any]], limit: int = 10**9, patience: Patience | None = None) -> bytearray:
    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.sleep(60)
        return messages.pop(0)

    async def story() -> bytearray:
        with Budget(limit).share() as share:
            return await Upload(receive).read(share, patience or Patience())

    return asyncio.run(story())


def piece(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def test_a_body_is_put_together() -> None:
    assert read([piece(b"a"), piece(b""), piece(b"bc"), piece(b"", False)]) == b"abc"


def test_a_body_over_its_limits_is_refused_while_it_comes() -> None:
    big = bytes(MAX_BODY_BYTES // 2)
    for messages, limit, status in (([piece(big), piece(big), piece(b"x")], 10**9, 413), ([piece(b"x" * 11)], 10, 503)):
        with pytest.raises(Refused) as caught:
            read(messages, limit)
        assert caught.value.status == status


def test_who_leaves_or_falls_asleep_is_noticed() -> None:
    with pytest.raises(ClientLeft):
        read([piece(b"a"), {"type": "http.disconnect"}])
    with pytest.raises(Refused) as caught:
        read([piece(b"a")], patience=Patience(idle_seconds=0.01))
    assert caught.value.status == 408


@pytest.mark.parametrize("length", ["134217729", "9" * 30, "-1", "1e3", "²"])
def test_a_declared_length_over_the_limit_or_none_at_all_is_refused(length: str) -> None:
    with pytest.raises(Refused):
        declared_length({"content-length": length})
    assert declared_length({}) == 0
    assert declared_length({"content-length": "134217728"}) == 134_217_728


def test_a_budget_comes_back_whatever_happens() -> None:
    budget = Budget(10)
    with suppress(ZeroDivisionError), budget.share() as share:
        share.grow(10)
        raise ZeroDivisionError
    assert budget.held == 0


def test_metrics_are_prometheus_text() -> None:
    metrics = Metrics()
    metrics.requests["/v1/systemone", 200] += 2
    metrics.queue_seconds.add(0.02)
    metrics.queue_seconds.add(1e9)
    lines = metrics.text({"ready": 1.0}).splitlines()
    assert 'systemone_requests_total{route="/v1/systemone",status="200"} 2' in lines
    assert 'systemone_queue_seconds_bucket{le="0.025"} 1' in lines
    assert 'systemone_queue_seconds_bucket{le="+Inf"} 2' in lines
    assert "systemone_queue_seconds_count 2" in lines
    assert "systemone_ready 1" in lines
