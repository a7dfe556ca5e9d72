internal import CLinux
internal import Glibc
internal import Synchronization

/// The exclusive use of a directory by one process. One scope or object owns it. The kernel releases it when
/// the process ends in any way. A process that finds the directory in use exits with EX_TEMPFAIL (75).
///
/// Each lock needs a descriptor, and a process has more than a hundred state files. All of them are in its slot,
/// which it has locked as a whole. So below such a directory only other owners in this process are excluded.
package struct DirectoryLock: ~Copyable {
    private enum Hold {
        case descriptor(Int32)
        /// An entry of `claimed`.
        case claim(String)
    }

    private static let lockedTrees = Mutex<Set<String>>([])
    private static let claimed = Mutex<Set<String>>([])
    private let hold: Hold

    /// Declares that this process has locked the directory with everything below it, until the process ends.
    package static func hasLocked(tree directory: String) {
        lockedTrees.withLock { _ = $0.insert(directory + "/") }
    }

    /// Locks the directory. Creates the directory and its parents if they are missing.
    package init(_ directory: String) throws(StoreError) {
        try Self.make(directory)
        if Self.lockedTrees.withLock({ $0.contains { directory.hasPrefix($0) } }) {
            guard Self.claimed.withLock({ $0.insert(directory).inserted }) else {
                throw .inUse(path: directory, by: "process \(getpid())")
            }
            hold = .claim(directory)
            return
        }
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw systemError("open", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            close(descriptor)
            guard reason == EWOULDBLOCK else { throw systemError("lock", path, number: reason) }
            throw .inUse(path: directory, by: Self.written(path).map { "process \($0)" } ?? "another process")
        }
        let own = Array("\(getpid())".utf8)
        ftruncate(descriptor, 0)
        _ = unsafe own.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        hold = .descriptor(descriptor)
    }

    /// Unlocks explicitly, because a child process that is just starting may keep the descriptor open a
    /// little longer.
    deinit {
        switch hold {
        case .descriptor(let descriptor):
            flock(descriptor, LOCK_UN)
            close(descriptor)
        case .claim(let directory): Self.claimed.withLock { _ = $0.remove(directory) }
        }
    }

    /// Returns the process that has the directory now, or nil.
    package static func holder(of directory: String) -> Int32? {
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR, 0)
        guard descriptor >= 0 else { return nil }
        // Closing releases the shared lock.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? nil : written(path)
    }

    private static func written(_ path: String) -> Int32? {
        (try? SmallFile.read(path)).flatMap { $0 }.flatMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }

    private static func make(_ directory: String) throws(StoreError) {
        guard unsafe mkdir(directory, 0o700) != 0 else { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            guard let slash = directory.lastIndex(of: "/"), slash != directory.startIndex else { fallthrough }
            try make(String(directory[..<slash]))
            guard unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST else { fallthrough }
        default: throw systemError("create", directory)
        }
    }
}
