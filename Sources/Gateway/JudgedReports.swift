package import JSON

/// What a body of reports is worth: those that are good, as records of the topic, and what is wrong with
/// the others.
package struct JudgedReports: Sendable {
    package struct Refused: Sendable, Equatable {
        /// The report's place in the body, from 0.
        package let index: Int
        /// Paths are those within the report.
        package let problems: [JSONProblem]
    }

    /// Keys and values, one after the other in one piece of memory.
    private var bytes: [UInt8] = []
    private var ends: [(key: Int, value: Int)] = []
    package internal(set) var refused: [Refused] = []

    package var acceptedCount: Int { ends.count }

    mutating func accept(key: [UInt8], value: borrowing JSONWriter) {
        bytes += key
        let keyEnd = bytes.count
        unsafe value.withBytes { unsafe bytes.append(contentsOf: $0) }
        ends.append((keyEnd, bytes.count))
    }

    mutating func append(_ other: JudgedReports) {
        let offset = bytes.count
        bytes += other.bytes
        ends += other.ends.map { ($0.key + offset, $0.value + offset) }
    }

    /// Lends the key and value of an accepted report.
    package func withRecord<Result>(
        _ index: Int, _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Result
    ) -> Result {
        let start = index == 0 ? 0 : ends[index - 1].value
        let (keyEnd, valueEnd) = ends[index]
        let span = bytes.span
        return body(span.extracting(start..<keyEnd), span.extracting(keyEnd..<valueEnd))
    }

    /// A copy of an accepted report's key and value.
    package func copy(_ index: Int) -> (key: [UInt8], value: [UInt8]) {
        let start = index == 0 ? 0 : ends[index - 1].value
        let (keyEnd, valueEnd) = ends[index]
        return (Array(bytes[start..<keyEnd]), Array(bytes[keyEnd..<valueEnd]))
    }
}
