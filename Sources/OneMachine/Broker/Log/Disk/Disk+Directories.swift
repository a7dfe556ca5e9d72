internal import CLinux
internal import Glibc
internal import Telemetry

extension Disk {
    /// Only the owner may read the records, because they hold push tokens and secrets.
    private static let directoryMode: mode_t = 0o700

    /// Makes a directory. Returns false if it exists already.
    @discardableResult
    package func makeDirectory(at path: String) throws(DiskError) -> Bool {
        _ = try beginOperation(.makeDirectory, path: path)
        if unsafe mkdir(path, Self.directoryMode) == 0 { return true }
        guard errno == EEXIST else { throw DiskError(operation: .makeDirectory, path: path, code: errno) }
        return false
    }

    /// Takes away the rights that an older release gave to all users. A directory with other rights than
    /// those was set by a person and stays as it is.
    func restrictAccess(to path: String) throws(DiskError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o777 == 0o755 else { return }
        guard unsafe chmod(path, Self.directoryMode) == 0 || errno == EPERM else {
            throw DiskError(operation: .makeDirectory, path: path, code: errno)
        }
    }

    /// The directory that holds a file or another directory.
    func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the sorted names in a directory, without `.` and `..`.
    package func names(in path: String) throws(DiskError) -> [String] {
        _ = try beginOperation(.list, path: path)
        guard let directory = unsafe opendir(path) else {
            throw DiskError(operation: .list, path: path, code: errno)
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while true {
            // `readdir` returns nil at the end and on an error, and only the error sets `errno`. A list that is cut
            // off would make the log look as if files were missing.
            errno = 0
            guard let entry = unsafe readdir(directory) else {
                guard errno == 0 else { throw DiskError(operation: .list, path: path, code: errno) }
                return names.sorted()
            }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Removes a directory of plain files.
    package func removeDirectory(at path: String) throws(DiskError) {
        for name in try names(in: path) { try removeFile(at: path + "/" + name) }
        _ = try beginOperation(.remove, path: path)
        guard unsafe rmdir(path) == 0 || errno == ENOENT else {
            throw DiskError(operation: .remove, path: path, code: errno)
        }
    }

    /// Returns the time of the last write, or nil if the system does not say.
    func lastModified(of path: String) -> WallTime? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return WallTime(
            milliseconds: Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000)
    }

    /// Gives a file a second name. Counts as a renaming.
    func link(_ path: String, to other: String) throws(DiskError) {
        _ = try beginOperation(.rename, path: other)
        guard unsafe Glibc.link(path, other) == 0 else {
            throw DiskError(operation: .rename, path: path, code: errno)
        }
    }

    /// Removes a directory if it has no files. Returns whether it is gone.
    func removeEmptyDirectory(at path: String) throws(DiskError) -> Bool {
        _ = try beginOperation(.remove, path: path)
        if unsafe rmdir(path) == 0 || errno == ENOENT { return true }
        guard errno == ENOTEMPTY || errno == EEXIST else {
            throw DiskError(operation: .remove, path: path, code: errno)
        }
        return false
    }

    /// Returns the whole file, or nil if it does not exist. For small files of our own.
    ///
    /// Only ENOENT means that the file does not exist. If another failure counted as a missing file, the
    /// caller would write a new file in its place.
    package func contents(of path: String) throws(DiskError) -> [UInt8]? {
        let file: OpenFile
        do throws(DiskError) {
            file = try open(path: path, writable: false)
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
        let size = try size(of: file)
        var bytes = [UInt8](repeating: 0, count: size)
        let count = try unsafe bytes.withMutableBytes { (buffer) throws(DiskError) in
            try unsafe read(file, at: 0, into: buffer)
        }
        bytes.removeLast(size - count)
        return bytes
    }

    /// Replaces a file. After a crash of the process it has either the old bytes or the new ones. With
    /// `durable`, that holds for a power failure too, and the new bytes are on the disk at the return.
    package func replace(_ path: String, with bytes: [UInt8], durable: Bool = true) throws(DiskError) {
        let temporary = path + ".tmp"
        try removeFile(at: temporary)
        let file = try open(path: temporary, create: true, writable: true)
        try write(bytes, to: file, at: 0)
        if durable { try sync(file) }
        try rename(temporary, to: path)
        if durable {
            try syncDirectory(at: parent(of: path))
        }
    }
}
