internal import Kafka
internal import Store

/// The slot of a long-running process.
enum StateSlot {
    /// Takes a slot below the data directory. The state files in it need no further locks.
    static func take(in data: String) throws -> Slot {
        let slot = try Slot.take(under: data + "/slots")
        DirectoryLock.hasLocked(tree: slot.path)
        return slot
    }
}
