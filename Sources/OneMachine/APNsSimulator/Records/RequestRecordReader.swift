internal import Glibc
package import Lifecycle

/// A reader of a file of request records, from start to end, even while a simulator writes it.
package struct RequestRecordReader {
    /// One read takes 1 MiB.
    private static let recordsPerRead = 8_192

    private let path: String

    package init(path: String) { self.path = path }

    /// Calls `body` for each record in order and returns the number of records.
    @discardableResult
    package func forEachRecord(_ body: (RequestRecord) -> Void) throws(SystemError) -> Int {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(action: "read the records \(path)", code: errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.recordsPerRead * RequestRecord.byteCount)
        var count = 0
        while true {
            let readByteCount = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(
                    descriptor, buffer.baseAddress, buffer.count, off_t(count * RequestRecord.byteCount))
            }
            if readByteCount < 0, errno == EINTR { continue }
            guard readByteCount >= 0 else {
                throw SystemError(action: "read the records \(path)", code: errno)
            }
            let completeCount = readByteCount / RequestRecord.byteCount
            // Bytes without a record are the reserved space at the end of the file.
            let recordCount = unsafe bytes.withUnsafeBytes { buffer in
                for index in 0..<completeCount {
                    guard let start = buffer.baseAddress,
                        let record = unsafe RequestRecord(memory: start + index * RequestRecord.byteCount)
                    else { return index }
                    body(record)
                }
                return completeCount
            }
            count += recordCount
            if completeCount == 0 || recordCount < completeCount { return count }
        }
    }
}
