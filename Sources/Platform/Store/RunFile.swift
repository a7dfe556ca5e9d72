internal import CLinux
internal import Glibc

/// The sorted runs of one sort on disk, each written once and read once from start to end. The file has no name, so it
/// disappears with the process. All runs share it, because a process may sort many tables at a time and its file
/// descriptors are limited.
///
/// A run is a sequence of changes in the order of their keys. A change is two numbers of four bytes, the key, and the
/// value. The first number is the length of the value plus one, or zero for a removal. The second one is the length of
/// the key.
final class RunFile {
    static let headBytes = 8
    private static let blockBytes = 1 << 20

    private let descriptor: Int32
    private let directory: String
    private var fileBytes = 0

    init(in directory: String) throws(StoreError) {
        self.directory = directory
        // One thread sorts in a directory, so nobody else opens this path before it is unlinked.
        let path = directory + "/run"
        descriptor = unsafe linux_open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw Self.error("create", in: directory, reason: errno) }
        unsafe unlink(path)
    }

    // Also called if `init` throws.
    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Appends a run: the last change of each key in a sorted batch. Returns its position in the file. If it throws,
    /// the file is as before.
    func append(_ batch: borrowing RowBatch) throws(StoreError) -> Range<Int> {
        let start = fileBytes
        do throws(StoreError) {
            try write(batch)
        } catch {
            // The unfinished run would keep its space on a full disk. If this fails, the next run overwrites it.
            ftruncate(descriptor, start)
            fileBytes = start
            throw error
        }
        return start..<fileBytes
    }

    private func write(_ batch: borrowing RowBatch) throws(StoreError) {
        var block: [UInt8] = []
        // The last change may pass the end of the block.
        block.reserveCapacity(Self.blockBytes + Self.blockBytes / 4)
        for index in 0..<batch.count where batch.isLastForKey(at: index) {
            let value = batch.value(at: index)
            var valueBytesPlusOne = 0
            if let value { valueBytesPlusOne = value.count + 1 }
            let head = UInt64(valueBytesPlusOne) | UInt64(batch.key(at: index).count) << 32
            unsafe withUnsafeBytes(of: head.littleEndian) { unsafe block.append(contentsOf: $0) }
            Self.append(batch.key(at: index), to: &block)
            if let value { Self.append(value, to: &block) }
            if block.count >= Self.blockBytes { try flush(&block) }
        }
        try flush(&block)
    }

    private static func append(_ bytes: Span<UInt8>, to block: inout [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { unsafe block.append(contentsOf: $0) }
    }

    private func flush(_ block: inout [UInt8]) throws(StoreError) {
        var writtenBytes = 0
        while writtenBytes < block.count {
            let count = unsafe block.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor, bytes.baseAddress! + writtenBytes, bytes.count - writtenBytes, fileBytes)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw Self.error("write", in: directory, reason: count == 0 ? ENOSPC : errno)
            }
            writtenBytes += count
            fileBytes += count
        }
        block.removeAll(keepingCapacity: true)
    }

    /// Reads from the offset until the buffer is full or the file ends. Returns the number of bytes.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) -> Int {
        var readBytes = 0
        while readBytes < buffer.count {
            let count = unsafe pread(
                descriptor, buffer.baseAddress! + readBytes, buffer.count - readBytes, offset + readBytes)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.error("read", in: directory, reason: errno) }
            if count == 0 { break }
            readBytes += count
        }
        return readBytes
    }

    private static func error(_ action: String, in directory: String, reason: Int32) -> StoreError {
        if reason == ENOSPC || reason == EDQUOT || reason == EFBIG { return .diskFull(path: directory) }
        return .system(
            action: "\(action) a run in", path: directory, reason: unsafe String(cString: strerror(reason)))
    }
}
