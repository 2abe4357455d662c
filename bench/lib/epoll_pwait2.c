// epoll_pwait2 by epoll_pwait, for Valgrind, which does not know the newer call. A wait is rounded up to a millisecond.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

int epoll_pwait2(int epoll, struct epoll_event *events, int events_max, const struct timespec *timeout,
                 const sigset_t *signals) {
    int timeout_ms = -1;
    if (timeout != NULL)
        timeout_ms = timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
    return epoll_pwait(epoll, events, events_max, timeout_ms, signals);
}
