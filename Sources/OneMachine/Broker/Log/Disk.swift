internal import CLinux
internal import Glibc

/// All file operations of the broker. A test can number them and let the process "die" before, after or
/// within each of them.
///
/// In production `fault` is nil and costs a branch. It must never be set outside tests.
package struct Disk: Sendable {
    package enum Operation: String, Sendable {
        case create, open, write, read, sync, truncate, rename, remove, makeDirectory, syncDirectory, list,
            lock
    }

    /// The fault that a test injects into an operation.
    package enum Fault: Sendable {
        /// The operation does not happen and reports this `errno`.
        case fail(Int32)
        /// A write stores only this many bytes and then reports this `errno`.
        case tear(bytes: Int, errno: Int32)
    }

    package typealias FaultHook = @Sendable (Operation, _ path: String, _ bytes: Int) -> Fault?

    private let fault: FaultHook?

    package init(fault: FaultHook? = nil) { self.fault = fault }

    func beginOperation(_ operation: Operation, path: String, bytes: Int = 0) throws(DiskError) -> Fault? {
        guard let fault, let given = fault(operation, path, bytes) else { return nil }
        if case .fail(let code) = given { throw DiskError(operation: operation, path: path, code: code) }
        return given
    }

    package func open(path: String, create: Bool = false, writable: Bool) throws(DiskError) -> OpenFile {
        let operation: Operation = create ? .create : .open
        _ = try beginOperation(operation, path: path)
        let access = writable ? O_RDWR : O_RDONLY
        let descriptor = unsafe linux_open(path, access | (create ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else { throw DiskError(operation: operation, path: path, code: errno) }
        return OpenFile(descriptor: descriptor, path: path)
    }

    /// Writes all of the head and then all of the body at `position`.
    package func write(
        _ head: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, to file: OpenFile, at position: Int
    ) throws(DiskError) {
        let total = head.count + body.count
        var limit = total
        var torn: Int32?
        if case .tear(let bytes, let code) = try beginOperation(.write, path: file.path, bytes: total) {
            limit = min(bytes, total)
            torn = code
        }
        try unsafe writeFully(head: head, body: body, limit: limit, to: file, at: position)
        if let torn { throw DiskError(operation: .write, path: file.path, code: torn) }
    }

    private func writeFully(
        head: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, limit: Int, to file: OpenFile,
        at position: Int
    ) throws(DiskError) {
        var done = 0
        while done < limit {
            let written: Int
            if done < head.count {
                let headLeft = min(head.count, limit) - done
                var parts = unsafe (
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress! + done),
                        iov_len: headLeft),
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress),
                        iov_len: max(0, min(body.count, limit - head.count)))
                )
                written = unsafe withUnsafePointer(to: &parts) { parts in
                    unsafe parts.withMemoryRebound(to: iovec.self, capacity: 2) {
                        unsafe pwritev(file.descriptor, $0, 2, position + done)
                    }
                }
            } else {
                let bodyDone = done - head.count
                written = unsafe pwrite(
                    file.descriptor, body.baseAddress! + bodyDone, limit - done, position + done)
            }
            if written < 0 {
                if errno == EINTR { continue }
                throw DiskError(operation: .write, path: file.path, code: errno)
            }
            guard written > 0 else { throw DiskError(operation: .write, path: file.path, code: ENOSPC) }
            done += written
        }
    }

    package func write(_ bytes: [UInt8], to file: OpenFile, at position: Int) throws(DiskError) {
        try unsafe bytes.withBytes { (raw) throws(DiskError) in
            try unsafe write(raw, body: UnsafeRawBufferPointer(start: nil, count: 0), to: file, at: position)
        }
    }

    /// Reads until the buffer is full or the file ends. Returns the number of bytes.
    package func read(
        _ file: OpenFile, at position: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(DiskError) -> Int {
        _ = try beginOperation(.read, path: file.path, bytes: buffer.count)
        var done = 0
        while done < buffer.count {
            let count = unsafe pread(
                file.descriptor, buffer.baseAddress! + done, buffer.count - done, position + done)
            if count < 0 {
                if errno == EINTR { continue }
                throw DiskError(operation: .read, path: file.path, code: errno)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    package func size(of file: OpenFile) throws(DiskError) -> Int {
        let end = lseek(file.descriptor, 0, SEEK_END)
        guard end >= 0 else { throw DiskError(operation: .read, path: file.path, code: errno) }
        return end
    }

    package func truncate(_ file: OpenFile, to size: Int) throws(DiskError) {
        _ = try beginOperation(.truncate, path: file.path)
        guard ftruncate(file.descriptor, size) == 0 else {
            throw DiskError(operation: .truncate, path: file.path, code: errno)
        }
    }

    /// Waits until the file's bytes are on the disk.
    package func sync(_ file: OpenFile) throws(DiskError) {
        _ = try beginOperation(.sync, path: file.path)
        guard fdatasync(file.descriptor) == 0 else {
            throw DiskError(operation: .sync, path: file.path, code: errno)
        }
    }

    /// Waits until the names in a directory are on the disk.
    package func syncDirectory(at path: String) throws(DiskError) {
        _ = try beginOperation(.syncDirectory, path: path)
        let descriptor = unsafe linux_open(path, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw DiskError(operation: .syncDirectory, path: path, code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw DiskError(operation: .syncDirectory, path: path, code: errno)
        }
    }

    package func rename(_ old: String, to new: String) throws(DiskError) {
        _ = try beginOperation(.rename, path: new)
        guard unsafe Glibc.rename(old, new) == 0 else {
            throw DiskError(operation: .rename, path: old, code: errno)
        }
    }

    /// Removes a file. A file that does not exist is no error.
    package func removeFile(at path: String) throws(DiskError) {
        _ = try beginOperation(.remove, path: path)
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw DiskError(operation: .remove, path: path, code: errno)
        }
    }
}
