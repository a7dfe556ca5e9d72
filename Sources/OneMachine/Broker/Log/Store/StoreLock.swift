internal import CLinux
internal import Glibc

/// The lock that gives one process the ownership of a data directory.
final class StoreLock {
    private let file: OpenFile

    init(path: String, disk: Disk) throws(TopicStoreError) {
        do throws(DiskError) {
            file = try disk.open(path: path + "/lock", create: true, writable: true)
        } catch {
            throw .disk(error)
        }
        if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        if errno == EWOULDBLOCK { throw .locked(path: path) }
        throw .disk(DiskError(operation: .lock, path: file.path, code: errno))
    }

    /// The device and inode of the lock file, for example `2049:131`. They tell a copy of the directory from the
    /// original, because the file is never replaced. Empty if the system does not give them.
    var directoryIdentity: String {
        var status = stat()
        guard unsafe fstat(file.descriptor, &status) == 0 else { return "" }
        return "\(status.st_dev):\(status.st_ino)"
    }

    /// Unlocks explicitly, because a child process that is being started may keep the descriptor open a
    /// little longer.
    deinit { flock(file.descriptor, LOCK_UN) }
}
