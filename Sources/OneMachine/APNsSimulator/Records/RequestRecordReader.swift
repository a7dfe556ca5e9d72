internal import Glibc
package import Lifecycle

/// Reads a file of request records from start to end, even while a simulator writes it.
package struct RequestRecordReader {
    private static let recordsAtOnce = 8_192

    private let path: String

    package init(path: String) { self.path = path }

    /// Calls `take` for each record in order and returns the number of records.
    @discardableResult
    package func forEachRecord(_ take: (RequestRecord) -> Void) throws(SystemError) -> Int {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(action: "read the records \(path)", code: errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.recordsAtOnce * RequestRecord.bytes)
        var count = 0
        while true {
            let read = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(
                    descriptor, buffer.baseAddress, buffer.count, off_t(count * RequestRecord.bytes))
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw SystemError(action: "read the records \(path)", code: errno) }
            let whole = read / RequestRecord.bytes
            let found = unsafe bytes.withUnsafeBytes { buffer in
                for index in 0..<whole {
                    guard let start = buffer.baseAddress,
                        let record = unsafe RequestRecord(memory: start + index * RequestRecord.bytes)
                    else { return index }
                    take(record)
                }
                return whole
            }
            count += found
            if whole == 0 || found < whole { return count }
        }
    }
}
