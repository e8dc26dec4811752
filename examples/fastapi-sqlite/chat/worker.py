"""The worker: takes jobs, has the model answer them, and writes the answers into streams. ``python -m chat.worker``.

Run as many as you like. One that dies is noticed by its leases, which nobody renews any more.
"""

import asyncio
import logging
import signal
import uuid

from chat import model
from chat.jobs import Job, Jobs
from chat.settings import Settings
from chat.writing import DAY, Answer
from tailrace.workflow import IdempotencyConflictError, StreamClosedError, StreamErroredError, StreamNotFoundError
from tailrace.workflow.aio import Workflows, connect
from tailrace.workflow.settings import WorkflowSettings

ATTEMPTS = 10
"""A job that has ended so many workers, or failed so often, is not tried again."""
LOOK_EVERY = 0.2
SWEEP_EVERY = 60.0

logger = logging.getLogger("chat.worker")


class Worker:
    """One worker process.

    Args:
        settings: Of the application.
        jobs: The table.
        workflows: Where the streams are.
    """

    def __init__(self, settings: Settings, jobs: Jobs, workflows: Workflows) -> None:
        self._settings = settings
        self._jobs = jobs
        self._workflows = workflows
        self._name = uuid.uuid4().hex

    async def run(self) -> None:
        """Work until cancelled."""
        slots = asyncio.Semaphore(self._settings.at_once)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep())
            while True:
                await slots.acquire()
                job = await asyncio.to_thread(self._jobs.take, self._name, self._settings.lease)
                if job is None:
                    slots.release()
                    await asyncio.sleep(LOOK_EVERY)
                else:
                    group.create_task(self.attempt(job)).add_done_callback(lambda _: slots.release())

    async def attempt(self, job: Job) -> None:
        """Work on one job until it has ended, or somebody else has it. Only cancelling it is raised."""
        writing = asyncio.ensure_future(self._write(job))
        try:
            while not (await asyncio.wait([writing], timeout=self._settings.lease / 3))[0]:
                if not await asyncio.to_thread(self._jobs.keep, job.id, self._name, self._settings.lease):
                    logger.warning("job %s was taken up by another worker", job.id)
                    return
            writing.result()
        except asyncio.CancelledError:
            # We are told to end. The job is another worker's at once, not when the lease is over.
            self._jobs.give_back(job.id, self._name, tried=False)
            raise
        except (IdempotencyConflictError, StreamClosedError, StreamErroredError) as error:
            logger.warning("job %s was written by another worker: %s", job.id, error)
        except StreamNotFoundError:
            # It had ended long ago and has expired, and nobody has noted how: no worker was there for a day.
            await asyncio.to_thread(self._jobs.finish, job.id, error="The answer is lost. Please ask again.")
        except Exception:
            logger.exception("attempt %d at job %s failed", job.attempts, job.id)
            await asyncio.to_thread(self._jobs.give_back, job.id, self._name, min(2.0**job.attempts, 60.0))
        finally:
            writing.cancel()

    async def _write(self, job: Job) -> None:
        answer = Answer(self._workflows.run("chat", job.id))
        await answer.catch_up()
        if not answer.over:
            if job.attempts > ATTEMPTS:
                await answer.fail("The model gave no answer. Please ask again.")
            else:
                async for piece in model.continued(job.prompt, answer.text, pause=self._settings.pause):
                    await answer.write(piece)
                await answer.end()
        # After the stream has ended, never before: a page that finds the row done asks for no stream.
        await asyncio.to_thread(self._jobs.finish, job.id, answer=answer.text, error=answer.error)
        await self._workflows.end("chat", job.id)

    async def _sweep(self) -> None:
        """Remove streams and runs that have ended a day ago: the answer is in the job's row by then."""
        while True:
            try:
                await self._workflows.sweep()
            except Exception:
                logger.exception("streams could not be swept")
            await asyncio.sleep(SWEEP_EVERY)


async def main() -> None:
    """Work until SIGTERM or Ctrl-C."""
    settings = Settings.from_environment()
    working = asyncio.current_task()
    assert working is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    async with await connect(settings.streams, settings=WorkflowSettings(run_retention=DAY)) as workflows:
        await Worker(settings, Jobs(settings.jobs), workflows).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        logger.info("ended")
