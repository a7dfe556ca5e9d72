internal import CLinux
internal import Glibc

/// The file operations of the broker. A test can let any of them fail and let a write store only a part,
/// and so end the "process" at any step. `size(of:)`, `restrictAccess(to:)` and `lastModified(of:)` have no
/// such faults.
///
/// In production `fault` is nil and costs a branch.
package struct Disk: Sendable {
    /// The kinds of operations, which a `FaultHook` can tell apart and error messages name.
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

    /// Called before each operation, with the number of bytes that it reads or writes. Returns its fault.
    package typealias FaultHook = @Sendable (Operation, _ path: String, _ bytes: Int) -> Fault?

    private let fault: FaultHook?

    package init(fault: FaultHook? = nil) { self.fault = fault }

    /// Throws the fault that a test injects into the operation, if it has one. A torn write is returned,
    /// because the caller must carry it out.
    func beginOperation(
        _ operation: Operation, path: String, byteCount: Int = 0
    ) throws(DiskError) -> Fault? {
        guard let fault, let injected = fault(operation, path, byteCount) else { return nil }
        if case .fail(let code) = injected { throw DiskError(operation: operation, path: path, code: code) }
        return injected
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
        var bytesToWrite = total
        var errnoAfterwards: Int32?
        if case .tear(let byteCount, let code) = try beginOperation(.write, path: file.path, byteCount: total)
        {
            bytesToWrite = min(byteCount, total)
            errnoAfterwards = code
        }
        try unsafe writeFully(head: head, body: body, limit: bytesToWrite, to: file, at: position)
        if let errnoAfterwards {
            throw DiskError(operation: .write, path: file.path, code: errnoAfterwards)
        }
    }

    package func write(_ bytes: [UInt8], to file: OpenFile, at position: Int) throws(DiskError) {
        try unsafe bytes.withBytes { (buffer) throws(DiskError) in
            try unsafe write(
                buffer, body: UnsafeRawBufferPointer(start: nil, count: 0), to: file, at: position)
        }
    }

    /// Writes the first `limit` bytes of head and body. A system call can write less than it is given, so
    /// several may be needed.
    private func writeFully(
        head: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, limit: Int, to file: OpenFile,
        at position: Int
    ) throws(DiskError) {
        var writtenCount = 0
        while writtenCount < limit {
            let result: Int
            if writtenCount < head.count {
                // One system call writes the rest of the head and the body.
                var parts = unsafe (
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress! + writtenCount),
                        iov_len: min(head.count, limit) - writtenCount),
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress),
                        iov_len: max(0, min(body.count, limit - head.count)))
                )
                result = unsafe withUnsafePointer(to: &parts) { parts in
                    unsafe parts.withMemoryRebound(to: iovec.self, capacity: 2) {
                        unsafe pwritev(file.descriptor, $0, 2, position + writtenCount)
                    }
                }
            } else {
                let bodyPosition = writtenCount - head.count
                result = unsafe pwrite(
                    file.descriptor, body.baseAddress! + bodyPosition, limit - writtenCount,
                    position + writtenCount)
            }
            if result < 0 {
                if errno == EINTR { continue }
                throw DiskError(operation: .write, path: file.path, code: errno)
            }
            guard result > 0 else { throw DiskError(operation: .write, path: file.path, code: ENOSPC) }
            writtenCount += result
        }
    }

    /// Reads until the buffer is full or the file ends. Returns the number of bytes.
    package func read(
        _ file: OpenFile, at position: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(DiskError) -> Int {
        _ = try beginOperation(.read, path: file.path, byteCount: buffer.count)
        var readCount = 0
        while readCount < buffer.count {
            let result = unsafe pread(
                file.descriptor, buffer.baseAddress! + readCount, buffer.count - readCount,
                position + readCount)
            if result < 0 {
                if errno == EINTR { continue }
                throw DiskError(operation: .read, path: file.path, code: errno)
            }
            if result == 0 { break }
            readCount += result
        }
        return readCount
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

    package func rename(_ path: String, to newPath: String) throws(DiskError) {
        _ = try beginOperation(.rename, path: newPath)
        guard unsafe Glibc.rename(path, newPath) == 0 else {
            throw DiskError(operation: .rename, path: path, code: errno)
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
