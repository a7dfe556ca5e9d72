internal import CLinux
internal import Glibc

/// Small files that describe a large one. They are read and replaced as a whole.
enum SmallFile {
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
            let got = unsafe pread(descriptor, buffer.baseAddress!, bytesMax, 0)
            failed = got < 0
            count = max(0, got)
        }
        if failed { throw systemError(action: "read", path: path) }
        return bytes
    }

    /// Replaces the file atomically: the name has either the old or the new bytes. If `synced`, the new bytes
    /// survive a power cut after the return.
    static func replace(at path: String, with bytes: [UInt8], synced: Bool) throws(StoreError) {
        let next = path + ".next"
        let descriptor = unsafe linux_open(next, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw systemError(action: "create", path: next) }
        let written = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        let failure: Int32? =
            written != bytes.count
            ? (written < 0 ? errno : ENOSPC)
            : synced && fsync(descriptor) != 0 ? errno : nil
        close(descriptor)
        if let failure {
            unsafe unlink(next)
            throw systemError(action: "write", path: next, number: failure)
        }
        guard unsafe rename(next, path) == 0 else { throw systemError(action: "rename", path: next) }
        if synced { try syncDirectory(of: path) }
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

func systemError(action: String, path: String, number: Int32 = errno) -> StoreError {
    switch number {
    case ENOSPC, EDQUOT, EFBIG: .diskFull(path: path)
    default: .system(action: action, path: path, reason: unsafe String(cString: strerror(number)))
    }
}
