// Preloaded into a program: counts what it does to files below a directory (opening to write, writing, renaming,
// removing, making directories), and kills it with SIGKILL at one of these events: before it, or, if it writes, when
// half of the bytes are written. Where no event is named, the number of events is written at the end.
//
// Where KILL_VERB is set, only the process with this argument is meant, and an event is what it sends over a socket.
//
//   KILL_BELOW  the directory
//   KILL_VERB   an argument of the process
//   KILL_AT     the event's number, from 1; 0: never
//   KILL_COUNT  the file for the number of events
//   KILL_TAKEN  a file that is made by the process that is killed
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long events;
// What KILL_VERB means for this process: it is not set, another process is meant, or this one.
static enum { FILES, NOTHING, SOCKETS } role;

__attribute__((constructor)) static void begin(void) {
    const char *verb = getenv("KILL_VERB");
    if (!verb) return;
    role = NOTHING;
    char arguments[4096];
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(arguments, 1, sizeof arguments - 1, file) : 0;
    if (file) fclose(file);
    arguments[length] = 0;
    for (size_t at = 0; at < length; at += strlen(arguments + at) + 1)
        if (strcmp(arguments + at, verb) == 0) role = SOCKETS;
}

#define NEXT(type, name, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) next = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_below(const char *path) {
    const char *below = getenv("KILL_BELOW");
    return role == FILES && below && path && strncmp(path, below, strlen(below)) == 0;
}

static int is_below_fd(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

// True if this event is the one; of several processes, in the first that comes to it.
static int is_last(void) {
    const char *at = getenv("KILL_AT"), *taken = getenv("KILL_TAKEN");
    long number = atomic_fetch_add(&events, 1) + 1;
    if (!at || atol(at) != number) return 0;
    return !taken || open(taken, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
}

static void end(void) { kill(getpid(), SIGKILL); }

static void event(const char *path) {
    if (is_below(path) && is_last()) end();
}

__attribute__((destructor)) static void count(void) {
    const char *name = getenv("KILL_COUNT");
    FILE *file = name && role != NOTHING ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", (long)events);
    fclose(file);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    NEXT(ssize_t, "write", int, const void *, size_t);
    if (is_below_fd(fd) && is_last()) {
        next(fd, bytes, count / 2);
        end();
    }
    return next(fd, bytes, count);
}

int rename(const char *from, const char *to) {
    NEXT(int, "rename", const char *, const char *);
    event(to);
    return next(from, to);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(int, "mkdir", const char *, mode_t);
    event(path);
    return next(path, mode);
}

int unlink(const char *path) {
    NEXT(int, "unlink", const char *);
    event(path);
    return next(path);
}

int unlinkat(int folder, const char *name, int flags) {
    NEXT(int, "unlinkat", int, const char *, int);
    if ((is_below(name) || is_below_fd(folder)) && is_last()) end();
    return next(folder, name, flags);
}

int rmdir(const char *path) {
    NEXT(int, "rmdir", const char *);
    event(path);
    return next(path);
}

int open64(const char *path, int flags, ...) {
    NEXT(int, "open64", const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (flags & (O_WRONLY | O_RDWR | O_CREAT)) event(path);
    return next(path, flags, mode);
}

int fsync(int fd) {
    NEXT(int, "fsync", int);
    if (is_below_fd(fd) && is_last()) end();
    return next(fd);
}

int fdatasync(int fd) {
    NEXT(int, "fdatasync", int);
    if (is_below_fd(fd) && is_last()) end();
    return next(fd);
}

// Threads send one after the other: what was counted before the end was sent, and nothing after it.
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(ssize_t, "writev", int, const struct iovec *, int);
    if (role != SOCKETS) return next(fd, parts, count);
    pthread_mutex_lock(&sending);
    if (is_last()) {
        write(fd, parts[0].iov_base, parts[0].iov_len / 2);
        end();
    }
    ssize_t sent = next(fd, parts, count);
    pthread_mutex_unlock(&sending);
    return sent;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    NEXT(ssize_t, "send", int, const void *, size_t, int);
    if (role != SOCKETS) return next(fd, bytes, count, flags);
    pthread_mutex_lock(&sending);
    if (is_last()) {
        next(fd, bytes, count / 2, flags);
        end();
    }
    ssize_t sent = next(fd, bytes, count, flags);
    pthread_mutex_unlock(&sending);
    return sent;
}
