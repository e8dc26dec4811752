"""Whether the server lives, whether its store answers, and how much is going on: for probes and for Prometheus."""

from tailrace.server.call import Call
from tailrace.server.principals import Action, Grant
from tailrace.server.problems import Problem
from tailrace.server.response import Response, json_response

_GAUGES = {"subscriptions", "live_subscriptions", "live_topics", "hints_arrive", "outage_seconds"}


async def alive(call: Call) -> Response:
    """Answer that the process runs and its event loop turns; says nothing about the store."""
    return json_response({"status": "alive"})


async def ready(call: Call) -> Response:
    """Answer whether requests should be sent here: the store answers, and the server is not about to end."""
    if call.service.live.draining:
        raise Problem("unavailable", "the server is about to end")
    if not await call.service.readiness.answers(call.service.look):
        raise Problem("unavailable", "the store does not answer")
    return json_response({"status": "ready"})


async def metrics(call: Call) -> Response:
    """Answer with counters and gauges in the text format of Prometheus."""
    if Grant(Action.ADMIN) not in call.principal.rights:
        raise Problem("forbidden", "metrics need admin on every topic")
    lines = [
        "# TYPE tailrace_server_streams gauge",
        f"tailrace_server_streams {call.service.live.count}",
        "# TYPE tailrace_server_draining gauge",
        f"tailrace_server_draining {int(call.service.live.draining)}",
        "# TYPE tailrace_server_responses_total counter",
    ]
    for status, count in sorted(call.service.statuses.items()):
        lines.append(f'tailrace_server_responses_total{{status="{status}"}} {count}')
    for name, value in call.service.engine.stats().items():
        # A store that can not tell whether its hints arrive has no number for it.
        if value is not None:
            is_gauge = name in _GAUGES
            full = f"tailrace_engine_{name}{'' if is_gauge else '_total'}"
            lines += [f"# TYPE {full} {'gauge' if is_gauge else 'counter'}", f"{full} {float(value):g}"]
    text = "".join(f"{line}\n" for line in lines).encode() + call.service.more_metrics()
    return Response(200, text, b"text/plain; version=0.0.4; charset=utf-8")
