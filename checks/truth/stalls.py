"""How late the machine itself is: threads that only sleep, one on each core, before everything else that wants it."""

import bisect
import os
import threading
import time

SLEEP_S = 0.005
PRIORITY = 50


class Stalls:
    """Watches from its creation on, for the life of the process. Needs root."""

    def __init__(self) -> None:
        self.cores = [([], []) for _ in os.sched_getaffinity(0)]
        for core, samples in zip(sorted(os.sched_getaffinity(0)), self.cores):
            threading.Thread(target=self.watch, args=(core, samples), daemon=True).start()

    def watch(self, core: int, samples: tuple[list, list]) -> None:
        # Both calls mean the calling thread.
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        times, late = samples
        while True:
            begun = time.monotonic()
            time.sleep(SLEEP_S)
            times.append(time.monotonic())
            late.append(times[-1] - begun - SLEEP_S)

    def p99_s(self, begun: float, ended: float) -> float:
        """The 99th percentile of how late a thread woke in this time, on the worst core."""
        worst = 0.0
        for times, late in self.cores:
            within = sorted(late[bisect.bisect_left(times, begun) : bisect.bisect_right(times, ended)])
            if within:
                worst = max(worst, within[int(len(within) * 0.99)])
        return worst
