internal import Kafka
internal import Store

/// The slot of a long-running process.
enum StateSlot {
    /// Takes a slot below the data directory. The state files in it need no further locks.
    static func acquire(in data: String) throws -> ProcessSlot {
        let slot = try ProcessSlot.acquire(under: data + "/slots")
        DirectoryLock.registerLockedTree(slot.path)
        return slot
    }
}
