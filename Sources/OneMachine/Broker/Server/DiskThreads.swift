internal import Lifecycle

/// The threads that wait for the disk in place of the loop: several sync, one compacts and removes.
final class DiskThreads: Sendable {
    private let flusher: Flusher
    private let worker: DiskWorker
    private let threads: [WorkerThread]

    init(flusher: Flusher, worker: DiskWorker) throws(SystemError) {
        self.flusher = flusher
        self.worker = worker
        var threads: [WorkerThread] = []
        do throws(SystemError) {
            for _ in 0..<Flusher.threadCount {
                threads.append(try WorkerThread(name: "broker-flush") { flusher.run() })
            }
            threads.append(try WorkerThread(name: "broker-work") { worker.run() })
        } catch {
            flusher.stop()
            for thread in threads { thread.join() }
            throw error
        }
        self.threads = threads
    }

    /// Finishes the requested syncs and the job under way, and ends the threads. Blocks until then.
    func stop() {
        flusher.stop()
        worker.stop()
        for thread in threads { thread.join() }
    }
}
