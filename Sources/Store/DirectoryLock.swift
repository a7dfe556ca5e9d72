internal import CLinux
internal import Glibc

/// A directory that one process has for itself. Owned by one scope or object; the kernel lets go of
/// it when the process ends, however it ends. Whoever finds it taken exits with EX_TEMPFAIL (75).
package struct DirectoryLock: ~Copyable {
    private let descriptor: Int32

    /// Makes the directory, with its parents, when it is missing.
    package init(_ directory: String) throws(StoreError) {
        try Self.make(directory)
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
        self.descriptor = descriptor
    }

    /// Unlocked by name: a child that is just being started may hold the descriptor a little longer.
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The process that has a directory now; nil where none has.
    package static func holder(of directory: String) -> Int32? {
        let path = directory + "/lock"
        let descriptor = unsafe linux_open(path, O_RDWR, 0)
        guard descriptor >= 0 else { return nil }
        // Closing lets go of it again.
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
