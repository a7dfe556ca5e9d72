internal import Lifecycle

/// The two threads that wait for the disk so that the loop need not: one syncs, one compacts and
/// removes.
final class DiskThreads: Sendable {
    private let flusher: Flusher
    private let worker: DiskWorker
    private let flushing: WorkerThread
    private let working: WorkerThread

    init(_ flusher: Flusher, _ worker: DiskWorker) throws(SystemError) {
        self.flusher = flusher
        self.worker = worker
        flushing = try WorkerThread(name: "broker-flush") { flusher.run() }
        do throws(SystemError) {
            working = try WorkerThread(name: "broker-work") { worker.run() }
        } catch {
            flusher.stop()
            flushing.join()
            throw error
        }
    }

    /// Finishes the round and the job under way.
    func stop() {
        flusher.stop()
        worker.stop()
        flushing.join()
        working.join()
    }
}
