/* What this machine allows: how late a thread is that does nothing but look at the clock.
 *
 *   turns RATE SECONDS
 *
 * RATE things a second fall due at equal distances; the thread spins until each is due and notes how
 * late it saw it. No socket, no work: what it is late by was taken from it by the kernel, by other
 * processes, or by whoever runs the machine's cores. Prints one line of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    long left = *(const long *)a, right = *(const long *)b;
    return (left > right) - (left < right);
}

int main(int count, char **argument) {
    long rate = count == 3 ? atol(argument[1]) : 0, seconds = count == 3 ? atol(argument[2]) : 0;
    if (rate < 1 || rate > 1000000 || seconds < 1 || seconds > 60) {
        fprintf(stderr, "usage: turns RATE SECONDS (up to 1,000,000 and 60)\n");
        return 2;
    }
    long n = rate * seconds, *late = malloc(n * sizeof *late), start;
    for (long i = 0; i < n; i++) late[i] = 0; /* in memory before it counts */
    start = now_ns();
    for (long i = 0; i < n; i++) {
        long due = start + i * 1000000000L / rate, now;
        while ((now = now_ns()) < due) {}
        late[i] = now - due;
    }
    qsort(late, n, sizeof *late, by_size);
    printf("{\"lag_p50_ns\": %ld, \"lag_p99_ns\": %ld, \"lag_max_ns\": %ld}\n", late[n / 2],
           late[n * 99 / 100], late[n - 1]);
    return 0;
}
