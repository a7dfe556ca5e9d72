internal import CLinux
internal import Glibc

/// Calls for small files, which are read and replaced as a whole: marks and locks.
enum SmallFile {
    /// The longest file. The rest of a longer one is ignored.
    private static let bytesMax = 4096

    /// Returns nil if the file does not exist.
    static func read(at path: String) throws(StoreError) -> [UInt8]? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        if descriptor < 0 {
            if errno == ENOENT { return nil }
            throw systemError(action: "read", path: path)
        }
        defer { close(descriptor) }
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, count in
            let readCount = unsafe pread(descriptor, buffer.baseAddress!, bytesMax, 0)
            failed = readCount < 0
            count = max(0, readCount)
        }
        if failed { throw systemError(action: "read", path: path) }
        return bytes
    }

    /// Replaces the file atomically: the name has either the old or the new bytes. If `synced`, the new bytes
    /// survive a power cut after the return.
    static func replace(at path: String, with bytes: [UInt8], synced: Bool) throws(StoreError) {
        let newPath = path + ".next"
        let descriptor = unsafe linux_open(newPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw systemError(action: "create", path: newPath) }
        let code = writeFully(bytes, to: descriptor, synced: synced)
        close(descriptor)
        guard code == 0 else {
            unsafe unlink(newPath)
            throw systemError(action: "write", path: newPath, number: code)
        }
        guard unsafe rename(newPath, path) == 0 else { throw systemError(action: "rename", path: newPath) }
        if synced { try syncDirectory(of: path) }
    }

    /// Returns 0 or the error number. A short write means that the disk is full.
    private static func writeFully(_ bytes: [UInt8], to descriptor: Int32, synced: Bool) -> Int32 {
        let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        if written < 0 { return errno }
        if written != bytes.count { return ENOSPC }
        return synced && fsync(descriptor) != 0 ? errno : 0
    }

    /// Removes a file. A missing file is not an error.
    static func remove(at path: String) throws(StoreError) {
        if unsafe unlink(path) != 0, errno != ENOENT { throw systemError(action: "remove", path: path) }
    }

    private static func syncDirectory(of path: String) throws(StoreError) {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let descriptor = unsafe linux_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw systemError(action: "open", path: directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw systemError(action: "sync", path: directory) }
    }
}

/// Returns the error of a failed system call. `action` is a verb such as "read".
func systemError(action: String, path: String, number: Int32 = errno) -> StoreError {
    switch number {
    case ENOSPC, EDQUOT, EFBIG: .diskFull(path: path)
    default: .system(action: action, path: path, reason: unsafe String(cString: strerror(number)))
    }
}
