#define _GNU_SOURCE
#include "simulated_library.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static bool is_on;
static int64_t steady_nanoseconds;
static int64_t wall_offset_nanoseconds;
static uint64_t random_state = 1;

int64_t simulated_steady_nanoseconds(void) { return steady_nanoseconds; }

void simulated_clock_set(int64_t steady, int64_t wall_offset) {
    is_on = true;
    steady_nanoseconds = steady;
    wall_offset_nanoseconds = wall_offset;
}

enum { NANOSECONDS_PER_MICROSECOND = 1000, NANOSECONDS_PER_SECOND = 1000000000 };

// These definitions replace libc's. The monotonic clock stays true: it measures how long the simulation itself takes.

int clock_gettime(clockid_t clock, struct timespec *time) {
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!is_on || !(is_wall || clock == CLOCK_BOOTTIME))
        return (int)syscall(SYS_clock_gettime, clock, time);
    int64_t nanoseconds = steady_nanoseconds + (is_wall ? wall_offset_nanoseconds : 0);
    time->tv_sec = nanoseconds / NANOSECONDS_PER_SECOND;
    time->tv_nsec = nanoseconds % NANOSECONDS_PER_SECOND;
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    (void)zone;
    struct timespec now;
    int code = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / NANOSECONDS_PER_MICROSECOND;
    return code;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

/// A sleep moves the clock of the process that sleeps.
int usleep(useconds_t microseconds) {
    if (is_on) {
        steady_nanoseconds += (int64_t)microseconds * NANOSECONDS_PER_MICROSECOND;
        return 0;
    }
    struct timespec pause = {microseconds / 1000000, (long)(microseconds % 1000000) * NANOSECONDS_PER_MICROSECOND};
    return nanosleep(&pause, 0);
}

/// The numbers of the code that asks for true randomness come from the seed.
void swift_stdlib_random(void *bytes, size_t count) {
    unsigned char *next = bytes;
    if (!is_on) {
        while (count > 0) {
            long got = syscall(SYS_getrandom, next, count, 0);
            if (got <= 0) continue;
            next += got;
            count -= (size_t)got;
        }
        return;
    }
    for (; count > 0; count--, next++) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        *next = (unsigned char)(random_state >> 32);
    }
}

void simulated_random_set(uint64_t seed) { random_state = seed | 1; }

bool simulated_machine_is_on(void) { return is_on; }
