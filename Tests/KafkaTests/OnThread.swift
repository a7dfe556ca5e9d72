import Glibc

/// Runs a blocking test on a separate thread, so that many tests can wait for a cluster at the same time. It is still the
/// test's task, so that its failures belong to the test.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withTaskExecutorPreference(ThreadPerJob()) { try await blocking(body) }
}

private func blocking(_ body: @Sendable () throws -> Void) async throws { try body() }

/// Runs each job of a task on a new thread.
private final class ThreadPerJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let work = Work(job: UnownedJob(job), executor: asUnownedTaskExecutor())
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                let work = Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue()
                work.job.runSynchronously(on: work.executor)
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        pthread_detach(thread)
    }

    private final class Work {
        let job: UnownedJob
        let executor: UnownedTaskExecutor

        init(job: UnownedJob, executor: UnownedTaskExecutor) {
            self.job = job
            self.executor = executor
        }
    }
}
