"""The jobs of a home, run by its server: by the same rules as `openclaw jobs run`, with the shared
model."""

from __future__ import annotations

import sys
import threading
import traceback

from openclaw.errors import OpenclawError
from openclaw.events import Done
from openclaw.jobs.job_runs import run_due, tell
from openclaw.jobs.schedule import Job, read_jobs
from openclaw.jobs.unattended import (
    UnattendedResult,
    result_of,
    todays_session,
    unattended_mode,
    unattended_settings,
)
from openclaw.security.display import harmless
from openclaw.server.service import Service
from openclaw.server.wire import PromptRequest
from openclaw.types import local_time

LOOK_SECONDS = 30.0
STOP_SECONDS = 10.0


class ServedJobs:
    """Looks twice a minute for jobs that are due."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ended = threading.Event()
        self._told: list[str] = []
        self._read: tuple[list[Job], list[str]] = ([], [])
        self._looked = local_time()
        self._failed = False

    def start(self) -> None:
        threading.Thread(target=self._look, name="jobs", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def look(self) -> None:
        """Run what is due. Never raises."""
        try:
            if self._may_be_due():
                results, faults = run_due(self._service.home, self._ask, local_time)
                self._say_once(faults)
                self._failed = any(each.result.code for each in results)
                for each in results:
                    tell(self._service.home, each, _say)
                    if each.result.code and not each.result.answer:
                        _say(f"job {each.job.name}: {each.result.why}")
        except OpenclawError as error:
            self._failed = True
            self._say_once([str(error)])
        except Exception as error:  # noqa: BLE001  the loop must go on
            self._failed = True
            traceback.print_exception(error, file=sys.stderr)

    def _may_be_due(self) -> bool:
        """Whether the history has to be read: the jobs have changed, a time has come since the last
        look, or a job has failed."""
        before, self._looked = self._looked, local_time()
        known, self._read = self._read, read_jobs(self._service.home)
        came = any(job.schedule.between(before, self._looked) for job in self._read[0])
        return came or self._failed or known != self._read

    def _say_once(self, faults: list[str]) -> None:
        for fault in faults if faults != self._told else ():
            _say(fault)
        self._told = faults

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self.look()

    def _ask(self, job: str, prompt: str) -> UnattendedResult:
        with self._service.agent() as agent:
            settings, session = agent.settings, todays_session(agent, job)
        mode = unattended_mode(settings)
        request = PromptRequest(prompt, typed=False, mode=mode, asks=False)
        alone = unattended_settings(settings)
        run = self._service.runs.start(request, settings=alone, session=session)
        if not run.wait(settings.heartbeat.timeout):
            run.stop()
            run.wait(STOP_SECONDS)
        if isinstance(end := run.outcome, Done):
            return result_of(end, 0)
        return UnattendedResult(why=end.message if end else "it took too long", code=1)


def _say(text: str) -> None:
    sys.stderr.write(f"{harmless(text)}\n")
