internal import Lifecycle

/// The file in a data directory about the process that opened it last.
///
/// A start compares it with the current boot and directory. Written pages can be missing only if the machine
/// went down in between, or if the directory is a copy that was made while a broker wrote.
struct BootNote: Equatable {
    private static let fileName = "boot"

    /// The boot id; empty if the system does not give one.
    var boot: String
    /// The device and inode of a file in the directory (`StoreLock`). In a copy of the directory they differ.
    var directoryIdentity: String
    var flush: FlushPolicy
    /// Whether all logs were synced and closed.
    var isClosed = false

    /// Returns the id of the machine's boot; empty if the system does not give one.
    static func currentBoot() -> String { (try? BootID.current())?.text ?? "" }

    /// Four words, for example `6f1c…-8a41 2049:131 everyAck open`.
    private var text: String { "\(boot) \(directoryIdentity) \(flush) \(isClosed ? "closed" : "open")" }

    static func read(in directory: String, disk: Disk) throws(DiskError) -> BootNote? {
        guard let bytes = try disk.contents(of: directory + "/" + fileName) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").map(String.init)
        guard words.count == 4 else { return nil }
        return BootNote(
            boot: words[0], directoryIdentity: words[1],
            flush: words[2] == "\(FlushPolicy.os)" ? .os : .everyAck,
            isClosed: words[3] == "closed")
    }

    /// Writes the note. Must be called when every log was recovered and synced. If it were written earlier
    /// and the process was killed, the next start would believe that no written page can be missing.
    func save(in directory: String, disk: Disk) throws(DiskError) {
        try disk.replace(directory + "/" + Self.fileName, with: Array(text.utf8))
    }

    /// Whether the machine has run without a restart since `earlier` was written, in the same directory.
    func stayedUp(since earlier: BootNote?) -> Bool {
        guard let earlier, !boot.isEmpty else { return false }
        return boot == earlier.boot && directoryIdentity == earlier.directoryIdentity
    }

    /// Whether records that were acknowledged may be lost. Their offsets must not be given again.
    func mayHaveLostAcknowledged(since earlier: BootNote?) -> Bool {
        guard let earlier, earlier.flush == .os, !earlier.isClosed else { return false }
        return !stayedUp(since: earlier)
    }
}
