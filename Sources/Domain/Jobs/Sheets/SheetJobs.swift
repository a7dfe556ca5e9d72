/// The jobs of a sheet, read in order from its header `to`, for readers that need each job once, such as tests. The
/// initializer checks all of them, so that reading cannot fail halfway. A sender uses `SheetIndex`.
package struct SheetJobs: ~Escapable {
    private let bytes: Span<UInt8>
    package let count: Int

    private static let newline = UInt8(ascii: "\n")

    /// Checks the lines. Throws the first problem.
    @_lifetime(copy bytes)
    package init(parsing bytes: Span<UInt8>) throws(SheetError) {
        self.bytes = bytes
        var count = 0
        var start = 0
        while start < bytes.count {
            guard count < SheetHead.jobsMax else { throw .tooManyJobs }
            let end = Self.end(of: start, in: bytes)
            guard SheetJob(parsing: bytes.extracting(start..<end)) != nil else { throw .invalidJob(count) }
            count += 1
            start = end + 1
        }
        if count == 0 { throw .noJobs }
        self.count = count
    }

    /// Calls `body` with each line's number, from 0, and its job.
    package func forEachJob<E: Error>(_ body: (Int, borrowing SheetJob) throws(E) -> Void) throws(E) {
        var start = 0
        var line = 0
        while start < bytes.count {
            let end = Self.end(of: start, in: bytes)
            guard let job = SheetJob(parsing: bytes.extracting(start..<end)) else {
                preconditionFailure("all lines were checked")
            }
            try body(line, job)
            line += 1
            start = end + 1
        }
    }

    /// Returns the end of a line. The last line may lack its newline.
    private static func end(of start: Int, in bytes: Span<UInt8>) -> Int {
        var end = start
        while end < bytes.count, bytes[end] != newline { end += 1 }
        return end
    }
}
