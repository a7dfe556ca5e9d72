internal import CLinux
internal import Glibc
internal import Synchronization

/// The exclusive use of a directory by one process. One scope or object owns it. The kernel releases it when
/// the process ends in any way. A process that finds the directory in use exits with EX_TEMPFAIL (75).
///
/// Each lock needs a descriptor, and a process has more than a hundred state files. All of them are in its slot,
/// which it has locked as a whole. So below such a directory only other owners in this process are excluded.
package struct DirectoryLock: ~Copyable {
    private enum LockMechanism {
        case descriptor(Int32)
        /// An entry of `claimed`.
        case claimedInProcess(String)
    }

    private static let lockedTrees = Mutex<Set<String>>([])
    private static let claimedDirectories = Mutex<Set<String>>([])
    private let mechanism: LockMechanism

    /// Declares that this process has locked the directory with everything below it, until the process ends.
    package static func registerLockedTree(_ directory: String) {
        lockedTrees.withLock { _ = $0.insert(directory + "/") }
    }

    /// Locks the directory. Creates the directory and its parents if they are missing.
    package init(directory: String) throws(StoreError) {
        try Self.makeDirectory(directory)
        if Self.lockedTrees.withLock({ $0.contains { directory.hasPrefix($0) } }) {
            guard Self.claimedDirectories.withLock({ $0.insert(directory).inserted }) else {
                throw .inUse(path: directory, by: "process \(getpid())")
            }
            mechanism = .claimedInProcess(directory)
            return
        }
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw systemError(action: "open", path: path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            close(descriptor)
            guard reason == EWOULDBLOCK else { throw systemError(action: "lock", path: path, number: reason) }
            throw .inUse(
                path: directory,
                by: Self.writtenProcessID(in: path).map { "process \($0)" } ?? "another process")
        }
        let own = Array("\(getpid())".utf8)
        ftruncate(descriptor, 0)
        _ = unsafe own.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        mechanism = .descriptor(descriptor)
    }

    /// Unlocks explicitly, because a child process that is just starting may keep the descriptor open a
    /// little longer.
    deinit {
        switch mechanism {
        case .descriptor(let descriptor):
            flock(descriptor, LOCK_UN)
            close(descriptor)
        case .claimedInProcess(let directory): Self.claimedDirectories.withLock { _ = $0.remove(directory) }
        }
    }

    /// Returns the process that has the directory now, or nil.
    package static func holder(of directory: String) -> Int32? {
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR, 0)
        guard descriptor >= 0 else { return nil }
        // Closing releases the shared lock.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? nil : writtenProcessID(in: path)
    }

    private static func writtenProcessID(in path: String) -> Int32? {
        (try? SmallFile.read(at: path)).flatMap { $0 }.flatMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    private static func makeDirectory(_ directory: String) throws(StoreError) {
        guard unsafe mkdir(directory, 0o700) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            guard let slash = directory.lastIndex(of: "/"), slash != directory.startIndex else { fallthrough }
            try makeDirectory(String(directory[..<slash]))
            guard unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST else { fallthrough }
        default: throw systemError(action: "create", path: directory)
        }
    }
}
