internal import CLinux
internal import Glibc
internal import Synchronization

/// The exclusive use of a directory by one owner in one process. One scope or object owns it. The kernel
/// releases it when the process ends in any way.
///
/// Each lock needs a descriptor, and a process has more than a hundred state files. All of them are in the
/// directory of its `ProcessSlot`, which it has locked as a whole. So a lock below such a directory needs no
/// file: it only excludes other owners in this process.
package struct DirectoryLock: ~Copyable {
    private enum LockMechanism {
        /// The open and locked file `lock` in the directory.
        case descriptor(Int32)
        /// An entry of `claimedDirectories`.
        case claimedInProcess(String)
    }

    /// The paths of the trees that this process has locked, each with a slash at its end.
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
        let isInLockedTree = Self.lockedTrees.withLock { trees in
            trees.contains { tree in directory.hasPrefix(tree) }
        }
        if isInLockedTree {
            let isClaimed = Self.claimedDirectories.withLock { $0.insert(directory).inserted }
            guard isClaimed else { throw .inUse(path: directory, by: "process \(getpid())") }
            mechanism = .claimedInProcess(directory)
        } else {
            mechanism = .descriptor(try Self.lockFile(in: directory))
        }
    }

    /// Opens and locks the file `lock`, and writes this process's id into it for `holder(of:)`.
    private static func lockFile(in directory: String) throws(StoreError) -> Int32 {
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw systemError(action: "open", path: path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw systemError(action: "lock", path: path, number: code) }
            throw .inUse(
                path: directory,
                by: writtenProcessID(in: path).map { "process \($0)" } ?? "another process")
        }
        let processID = Array("\(getpid())".utf8)
        ftruncate(descriptor, 0)
        _ = unsafe processID.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        return descriptor
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

    /// Returns the id of the process that has locked the directory, or nil if it is not locked.
    package static func holder(of directory: String) -> Int32? {
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR, 0)
        guard descriptor >= 0 else { return nil }
        // A shared lock shows that no process has the exclusive one. Closing releases it.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? nil : writtenProcessID(in: path)
    }

    private static func writtenProcessID(in path: String) -> Int32? {
        guard let bytes = try? SmallFile.read(at: path) else { return nil }
        return Int32(String(decoding: bytes, as: UTF8.self))
    }

    private static func makeDirectory(_ directory: String) throws(StoreError) {
        if unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = directory.lastIndex(of: "/"), slash != directory.startIndex {
            try makeDirectory(String(directory[..<slash]))
            if unsafe mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        }
        throw systemError(action: "create", path: directory)
    }
}
