internal import Kafka
internal import Store

/// The slot of a long-running process: a numbered directory for its state files, locked while the process runs.
enum StateSlot {
    /// Locks a free slot below the data directory. The state files in it need no further locks.
    static func acquire(in dataDirectory: String) throws -> ProcessSlot {
        let slot = try ProcessSlot.acquire(under: dataDirectory + "/slots")
        DirectoryLock.registerLockedTree(slot.path)
        return slot
    }
}
