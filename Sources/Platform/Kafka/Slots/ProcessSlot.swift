internal import CLinux
internal import Glibc

/// A process's slot: a numbered and locked directory, such as `slot-0`, that holds a unique id.
///
/// The id, with stage and loop, forms the static membership and the transactional id. So a restarted process
/// takes over its previous membership at once, and two running processes never share one. The lock lasts as
/// long as this object. The kernel releases it however the process dies.
package final class ProcessSlot: Sendable {
    /// The maximum number of processes that can share a data directory.
    package static let slotsMax = 64
    /// Limit of attempts to open a directory that was just made or found.
    private static let openAttemptsMax = 100

    package let path: String
    package let number: Int
    /// 32 hexadecimal digits, the same at every start.
    package let id: String
    /// The open and locked directory.
    private let descriptor: Int32

    private init(path: String, number: Int, id: String, descriptor: Int32) {
        self.path = path
        self.number = number
        self.id = id
        self.descriptor = descriptor
    }

    /// Takes the first slot that no running process holds. Makes a new slot if all existing ones are held.
    ///
    /// - Parameters:
    ///   - directory: The data directory. It is made if it is missing.
    ///   - randomByte: The source of a new slot's id.
    package static func acquire(
        under directory: String, slotsMax: Int = ProcessSlot.slotsMax,
        randomByte: () -> UInt8 = { .random(in: .min ... .max) }
    ) throws(SlotError) -> ProcessSlot {
        try makeDirectory(at: directory)
        for number in 0..<slotsMax {
            if let slot = try acquire(
                path: "\(directory)/slot-\(number)", number: number, randomByte: randomByte)
            {
                return slot
            }
        }
        throw .allSlotsHeld(directory: directory, count: slotsMax)
    }

    /// Returns the identity of one loop of a stage, such as `flotilla.planner.` with the id and `.0`. Kafka
    /// gets it as `group.instance.id` and as `transactional.id`.
    package func identity(stage: String, loop: Int) -> String { "flotilla.\(stage).\(id).\(loop)" }

    /// Unlocks explicitly, because a child process that is being started may hold the descriptor a little
    /// longer.
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Takes the slot, and makes it if it is missing. Returns nil if another process holds it.
    static func acquire(
        path: String, number: Int, randomByte: () -> UInt8
    ) throws(SlotError) -> ProcessSlot? {
        var openAttempts = 0
        while true {
            try makeDirectory(at: path)
            let descriptor = unsafe linux_open(path, O_RDONLY | O_DIRECTORY, 0)
            openAttempts += 1
            guard descriptor >= 0 else {
                // Another process removed the directory between the two calls. If that seems to happen every time, the
                // path is a symbolic link that leads nowhere.
                if errno == ENOENT, openAttempts < openAttemptsMax { continue }
                throw SlotError.systemCallFailed(verb: "open", path: path, code: errno)
            }
            var isAcquired = false
            defer { if !isAcquired { close(descriptor) } }
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                if errno == EWOULDBLOCK { return nil }
                if errno == EINTR { continue }
                throw SlotError.systemCallFailed(verb: "lock", path: path, code: errno)
            }
            // The lock holds the directory that was opened. The path may already lead to a newer directory.
            guard isSameDirectory(path: path, descriptor: descriptor) else { continue }
            let id = try SlotIDFile(directory: path).readOrMakeID(randomByte: randomByte)
            isAcquired = true
            return ProcessSlot(path: path, number: number, id: id, descriptor: descriptor)
        }
    }

    private static func isSameDirectory(path: String, descriptor: Int32) -> Bool {
        var opened = stat()
        var named = stat()
        return unsafe fstat(descriptor, &opened) == 0 && stat(path, &named) == 0
            && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    private static func makeDirectory(at path: String) throws(SlotError) {
        guard unsafe mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        throw .systemCallFailed(verb: "make", path: path, code: errno)
    }
}
