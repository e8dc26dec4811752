"""The Flask application: starts runs, shows them, and streams their events to browsers."""

import uuid

import flask
from kombu.exceptions import OperationalError

import tailrace
from answers import settings, tasks
from tailrace.integrations.wsgi import EventStreams
from tailrace.sse import StreamSettings
from tailrace.tokens import KeyRing, Tokens

LONGEST_PROMPT = 2000

app = flask.Flask(__name__)
# A client that has vanished is noticed at the next write: a heartbeat, at the latest.
event_streams = EventStreams(StreamSettings(heartbeat=5.0, retry=1.0))
# The same keys for all processes, and after a restart: what one of them hands out the others take.
tokens = Tokens(KeyRing.from_environment(), audience="flask-celery-redis")
streams = tasks.streams


@app.get("/")
def index() -> str:
    """Ask for a prompt. The run's name is made here, so that a form that is sent twice starts one run."""
    return flask.render_template("index.html", run=uuid.uuid4(), longest=LONGEST_PROMPT)


@app.post("/runs/<uuid:run>")
def start(run: uuid.UUID) -> tuple[str, int] | flask.typing.ResponseReturnValue:
    """Start a run, once, and go to its page."""
    prompt = flask.request.form.get("prompt", "").strip()
    if not 0 < len(prompt) <= LONGEST_PROMPT:
        return flask.render_template("problem.html", problem="Write something, and not too much."), 400
    try:
        # No start has to be fixed before the work is dispatched: the page reads the topic from its beginning.
        tasks.write.apply_async((str(run), prompt), task_id=str(run))
    except OperationalError:
        return flask.render_template("problem.html", problem="Nothing was lost. Send the form again in a moment."), 503
    return flask.redirect(flask.url_for("show", run=run), 303)


@app.get("/runs/<uuid:run>")
def show(run: uuid.UUID) -> str:
    """Show a run. Its name can not be guessed; where that is not enough, check here and in ``events`` whose it is."""
    return flask.render_template("run.html", run=run)


@app.get("/runs/<uuid:run>/events")
def events(run: uuid.UUID) -> flask.Response:
    """Stream a run from its beginning; to a browser that comes back, from where it was."""
    body = event_streams.events(
        flask.request.environ,
        streams.topic(settings.topic_of(str(run))),
        tokens,
        start="beginning",
        cursor=flask.request.args.get("cursor"),
    )
    return flask.Response(body, status=body.status, headers=body.headers)


@app.errorhandler(tailrace.InvalidTokenError)
def start_anew(error: tailrace.InvalidTokenError) -> tuple[str, int]:
    """Refuse an id that is none of ours."""
    return str(error), 400


@app.after_request
def guarded(response: flask.Response) -> flask.Response:
    """Let pages run no scripts but ours."""
    response.headers.setdefault("Content-Security-Policy", "default-src 'self'")
    return response
