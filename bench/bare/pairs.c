/* What this machine allows: pairs of sockets over loopback, and nothing else.
 *
 *   pairs USERS THREADS BROADCASTS BYTES
 *
 * THREADS clients connect USERS times to as many serving threads, send an upgrade request and take the
 * reply; no protocol is spoken, no scenario played, nothing recorded. Then every serving thread sends
 * BYTES to each of its connections, BROADCASTS times. Prints one line of JSON: how fast the connections
 * came, the CPU of a connection on both sides, and the seconds until the last client had each broadcast.
 *
 * Each thread leaves the shared file table, so that the limit on open files holds for each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 20000, EVENTS = 256, AT_ONCE = 64, ACCEPTS = 64, BUFFER = 16384, PER_ADDRESS = 12000 };
enum { BROADCAST_SECONDS_MAX = 120, CONNECT_SECONDS_MAX = 300 };

static const char REQUEST[] =
    "GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:9100\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
static const char REPLY[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

static long users, bytes;
static int threads, broadcasts, port;
static atomic_int serving;                /* threads that listen */
static atomic_int broadcast;              /* the broadcast that is due; 0: none yet */
static atomic_long connected, received;   /* users; messages of all broadcasts */
static double client_cpu[512], server_cpu[512];

static double clock_s(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void check(int result, const char *what) {
    if (result < 0) fail(what);
}

static void own_file_table(void) {
    check(unshare(CLONE_FILES), "unshare");
    check(close_range(3, ~0U, 0), "close_range");
}

static struct sockaddr_in loopback(uint32_t host, int at_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(at_port)};
    address.sin_addr.s_addr = htonl(host);
    return address;
}

static int tcp_socket(void) {
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    check(fd, "socket");
    check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    return fd;
}

static void watch(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void *serve(void *number) {
    own_file_table();
    int on = 1, listener = tcp_socket(), epoll = epoll_create1(0);
    check(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
    check(setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), "SO_REUSEPORT");
    struct sockaddr_in here = loopback(INADDR_LOOPBACK, port);
    check(bind(listener, (struct sockaddr *)&here, sizeof here), "bind");
    check(listen(listener, 65535), "listen");
    watch(epoll, listener, EPOLLIN);
    atomic_fetch_add(&serving, 1);

    struct epoll_event events[EVENTS];
    char buffer[BUFFER], *message = malloc(bytes);
    memset(message, 'x', bytes);
    int *conns = malloc(FILES_MAX * sizeof *conns), count = 0, sent = 0;
    for (;;) {
        int due = atomic_load(&broadcast);
        if (due > sent) {
            for (int i = 0; i < count; i++) check(send(conns[i], message, bytes, MSG_NOSIGNAL), "send");
            sent = due;
        }
        int n = epoll_wait(epoll, events, EVENTS, 10);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                for (int k = 0; k < ACCEPTS && count < FILES_MAX; k++) {
                    int conn = accept4(listener, 0, 0, SOCK_NONBLOCK);
                    if (conn < 0) break;
                    check(setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
                    watch(epoll, conn, EPOLLIN | EPOLLET);
                    conns[count++] = conn;
                }
            } else if (recv(fd, buffer, sizeof buffer, 0) > 0) {
                check(send(fd, REPLY, sizeof REPLY - 1, MSG_NOSIGNAL), "send");
            }
        }
        if (sent == 0) server_cpu[(long)number] = clock_s(CLOCK_THREAD_CPUTIME_ID);
    }
    return 0;
}

enum { CONNECTING = 1, UPGRADING, THERE };

static void *play(void *number) {
    own_file_table();
    long id = (long)number, mine = users / threads + (id < users % threads), opened = 0, there = 0;
    int epoll = epoll_create1(0), on = 1;
    struct epoll_event events[EVENTS];
    char buffer[BUFFER], *state = calloc(FILES_MAX, 1);
    struct sockaddr_in target = loopback(INADDR_LOOPBACK, port);
    for (;;) {
        while (opened < mine && opened - there < AT_ONCE) {
            int fd = tcp_socket();
            check(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on), "no port");
            struct sockaddr_in source = loopback(0x7f010001 + id * 4 + opened / PER_ADDRESS, 0);
            check(bind(fd, (struct sockaddr *)&source, sizeof source), "bind");
            if (connect(fd, (struct sockaddr *)&target, sizeof target) && errno != EINPROGRESS) fail("connect");
            state[fd] = CONNECTING;
            watch(epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
            opened++;
        }
        int n = epoll_wait(epoll, events, EVENTS, 100);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (state[fd] == CONNECTING && (events[i].events & EPOLLOUT)) {
                state[fd] = UPGRADING;
                check(send(fd, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL), "send");
            }
            if (!(events[i].events & EPOLLIN) || recv(fd, buffer, sizeof buffer, 0) <= 0) continue;
            if (state[fd] == THERE) {
                atomic_fetch_add(&received, 1);
            } else {
                state[fd] = THERE;
                if (++there == mine) client_cpu[id] = clock_s(CLOCK_THREAD_CPUTIME_ID);
                atomic_fetch_add(&connected, 1);
            }
        }
    }
    return 0;
}

/* Waits until `counter` has come to `goal`; returns how long it took. */
static double await(atomic_long *counter, long goal, double seconds_max) {
    double start = clock_s(CLOCK_MONOTONIC), now = start;
    while (atomic_load(counter) < goal) {
        usleep(500);
        now = clock_s(CLOCK_MONOTONIC);
        if (now - start > seconds_max) {
            fprintf(stderr, "%ld of %ld after %.0f s\n", atomic_load(counter), goal, now - start);
            exit(1);
        }
    }
    return now - start;
}

static double sum(const double *values) {
    double total = 0;
    for (int i = 0; i < threads; i++) total += values[i];
    return total;
}

int main(int count, char **argument) {
    if (count != 5) {
        fprintf(stderr, "usage: pairs USERS THREADS BROADCASTS BYTES\n");
        return 2;
    }
    users = atol(argument[1]), threads = atoi(argument[2]), broadcasts = atoi(argument[3]);
    bytes = atol(argument[4]), port = 9100;
    if (users < 1 || threads < 1 || threads > 512 || users / threads >= FILES_MAX || bytes < 1) {
        fprintf(stderr, "1 to 512 threads, each for less than %d users\n", FILES_MAX);
        return 2;
    }
    pthread_t thread;
    for (long i = 0; i < threads; i++) pthread_create(&thread, 0, serve, (void *)i);
    while (atomic_load(&serving) < threads) usleep(500);
    for (long i = 0; i < threads; i++) pthread_create(&thread, 0, play, (void *)i);
    double seconds = await(&connected, users, CONNECT_SECONDS_MAX);
    printf("{\"users\": %ld, \"connected_per_s\": %.0f, \"client_us\": %.2f, \"server_us\": %.2f, "
           "\"broadcast_s\": [", users, users / seconds, sum(client_cpu) / users * 1e6,
           sum(server_cpu) / users * 1e6);
    for (int i = 1; i <= broadcasts; i++) {
        sleep(2);
        atomic_store(&broadcast, i);
        printf("%s%.3f", i > 1 ? ", " : "", await(&received, users * i, BROADCAST_SECONDS_MAX));
    }
    puts("]}");
    fflush(stdout);
    _exit(0);
}
