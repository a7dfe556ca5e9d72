#define _GNU_SOURCE
#include "simulated_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// The simulation runs on one thread of the system. A thread of the simulated code has its own stack, and runs at once
// until it ends or waits for descriptors. Threads that were made before the clocks were set, such as the writer of the
// log, are real.

enum { STACK_BYTES = 1 << 20, THREADS_MAX = 1 << 14, NANOSECONDS_PER_MILLISECOND = 1000000 };

typedef struct {
    ucontext_t context;
    /// The place at which `simulated_thread_resume` continues.
    ucontext_t resumer;
    void *stack;
    void *(*body)(void *);
    void *argument;
    int32_t process;
    bool has_ended;
    bool is_running;
    /// The descriptor of its wait, or -1.
    int epoll;
    int64_t wakes_at;
    const void *values[PTHREAD_KEYS_MAX];
} simulated_thread_t;

static simulated_thread_t *threads[THREADS_MAX];
static int32_t thread_count;
static int32_t process;
// These are variables of a real thread, so that the writer of the log has its own.
static __thread simulated_thread_t *running;
static __thread const void *values_of_real_thread[PTHREAD_KEYS_MAX];

// MARK: Processes

int32_t simulated_process_enter(int32_t entered) {
    int32_t previous = process;
    process = entered;
    return previous;
}

int32_t simulated_process_current(void) { return process; }

static void free_stack(simulated_thread_t *thread) {
    thread->has_ended = true;
    if (thread->stack) munmap(thread->stack, STACK_BYTES);
    thread->stack = 0;
}

void simulated_process_kill(int32_t killed) {
    for (int32_t number = 0; number < thread_count; number++) {
        simulated_thread_t *thread = threads[number];
        if (thread->process != killed || thread->has_ended) continue;
        // The stack of a thread that is killed in one of its calls is still in use.
        if (thread->is_running) thread->has_ended = true;
        else free_stack(thread);
    }
    simulated_descriptors_close(killed);
}

// MARK: Running

static simulated_thread_t *starting;

static void begin(void) {
    simulated_thread_t *thread = starting;
    thread->body(thread->argument);
    thread->has_ended = true;
    setcontext(&thread->resumer);
}

static void resume(simulated_thread_t *thread) {
    simulated_thread_t *previous = running;
    int32_t previous_process = simulated_process_enter(thread->process);
    running = thread;
    thread->is_running = true;
    swapcontext(&thread->resumer, &thread->context);
    thread->is_running = false;
    running = previous;
    simulated_process_enter(previous_process);
    if (thread->has_ended) free_stack(thread);
}

/// Lets the code that resumed the running thread continue.
static void wait_for_resume(void) {
    simulated_thread_t *thread = running;
    swapcontext(&thread->context, &thread->resumer);
}

void simulated_thread_abandon(void) {
    if (!running) return;
    running->has_ended = true;
    // The runtime of Swift may still have references into the stack, so it is never freed.
    running->stack = 0;
    wait_for_resume();
}

int32_t simulated_thread_count(void) { return thread_count; }

static bool is_ready(const simulated_thread_t *thread) {
    struct pollfd entry = {thread->epoll, POLLIN, 0};
    return thread->epoll >= 0 && poll(&entry, 1, 0) > 0;
}

simulated_thread_state_t simulated_thread_state(int32_t number) {
    const simulated_thread_t *thread = threads[number];
    if (thread->has_ended) return (simulated_thread_state_t){thread->process, true, false, INT64_MAX};
    return (simulated_thread_state_t){thread->process, false, is_ready(thread), thread->wakes_at};
}

void simulated_thread_resume(int32_t number) {
    simulated_thread_t *thread = threads[number];
    if (!thread->has_ended && !thread->is_running) resume(thread);
}

// MARK: The functions of libc

int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (!simulated_machine_is_on()) {
        int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
            dlsym(RTLD_NEXT, "pthread_create");
        return create(made, attributes, body, argument);
    }
    if (thread_count == THREADS_MAX) return EAGAIN;
    simulated_thread_t *thread = calloc(1, sizeof *thread);
    thread->stack = mmap(0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    thread->body = body;
    thread->argument = argument;
    thread->process = process;
    thread->epoll = -1;
    thread->wakes_at = INT64_MAX;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&thread->context, begin, 0);
    threads[thread_count++] = thread;
    *made = (pthread_t)thread_count;
    starting = thread;
    resume(thread);
    return 0;
}

int pthread_detach(pthread_t thread) {
    (void)thread;
    return 0;
}

int pthread_join(pthread_t made, void **result) {
    if (result) *result = 0;
    if (!simulated_machine_is_on() || made == 0 || made > (pthread_t)thread_count) return 0;
    simulated_thread_t *thread = threads[made - 1];
    while (!thread->has_ended && !thread->is_running) resume(thread);
    return 0;
}

int pthread_setspecific(pthread_key_t key, const void *value) {
    if (key >= PTHREAD_KEYS_MAX) return EINVAL;
    if (running) running->values[key] = value;
    else values_of_real_thread[key] = value;
    return 0;
}

void *pthread_getspecific(pthread_key_t key) {
    if (key >= PTHREAD_KEYS_MAX) return 0;
    return (void *)(running ? running->values[key] : values_of_real_thread[key]);
}

int epoll_wait(int epoll, struct epoll_event *events, int count_max, int milliseconds) {
    if (!running) return (int)syscall(SYS_epoll_pwait, epoll, events, count_max, milliseconds, 0, _NSIG / 8);
    int64_t now = simulated_steady_nanoseconds();
    int64_t end = milliseconds < 0 ? INT64_MAX : now + (int64_t)milliseconds * NANOSECONDS_PER_MILLISECOND;
    for (;;) {
        int count = (int)syscall(SYS_epoll_pwait, epoll, events, count_max, 0, 0, _NSIG / 8);
        if (count != 0 || end <= simulated_steady_nanoseconds()) return count;
        running->epoll = epoll;
        running->wakes_at = end;
        wait_for_resume();
    }
}

/// Lets a thread of the current process run that has something to do. Returns false if none has.
static bool run_ready_thread(void) {
    for (int32_t number = 0; number < thread_count; number++) {
        simulated_thread_t *thread = threads[number];
        if (thread->process != process || thread->has_ended || thread->is_running) continue;
        if (!is_ready(thread) && thread->wakes_at > simulated_steady_nanoseconds()) continue;
        resume(thread);
        return true;
    }
    return false;
}

/// A wait for another thread lets that thread run.
int sem_wait(sem_t *semaphore) {
    if (!simulated_machine_is_on() || gettid() != getpid()) {
        int (*wait)(sem_t *) = dlsym(RTLD_NEXT, "sem_wait");
        return wait(semaphore);
    }
    while (sem_trywait(semaphore) != 0) {
        if (run_ready_thread()) continue;
        fputs("a simulated thread waits for a signal that no other thread can give\n", stderr);
        abort();
    }
    return 0;
}
