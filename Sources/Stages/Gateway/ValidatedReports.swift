package import JSON
internal import LiveActivity

/// The result of checking a body of reports: the good reports as records of the topic, and the problems of
/// the others.
package struct ValidatedReports: Sendable {
    package struct RefusedReport: Sendable, Equatable {
        /// The report's index in the body, from 0.
        package let index: Int
        /// The problems. Their paths start at the report.
        package let problems: [JSONProblem]
        /// The exceeded limit. The report is valid, but its installation sends too many.
        package var limit: RateLimit?
    }

    /// A valid report of a tap. The answer says to which activity and schedule the tap is attributed.
    package struct Tap: Sendable, Equatable {
        package let activity: String?
        package let scheduleID: String?
        package let scheduleName: String?

        init?(report: Report) {
            guard report.kind == .tap else { return nil }
            (activity, scheduleID, scheduleName) = (report.activity, report.scheduleID, report.scheduleName)
        }
    }

    private struct RecordRange {
        let index: Int
        let start: Int
        let keyEnd: Int
        let end: Int
    }

    /// Keys and values in one contiguous buffer.
    private var bytes: [UInt8] = []
    private var records: [RecordRange] = []
    /// Taps by their index in the body.
    private var tapsByIndex: [Int: Tap] = [:]
    package internal(set) var refused: [RefusedReport] = []

    package var acceptedCount: Int { records.count }

    /// Taps of the accepted reports, in the body's order.
    package var taps: [(index: Int, tap: Tap)] {
        if tapsByIndex.isEmpty { return [] }
        return records.compactMap { place in tapsByIndex[place.index].map { (place.index, $0) } }
    }

    /// Adds an accepted report.
    ///
    /// - Parameter index: The report's index in the body.
    mutating func accept(at index: Int, key: [UInt8], value: borrowing JSONWriter, tap: Tap?) {
        if let tap { tapsByIndex[index] = tap }
        let start = bytes.count
        bytes += key
        let keyEnd = bytes.count
        unsafe value.withBytes { unsafe bytes.append(contentsOf: $0) }
        records.append(RecordRange(index: index, start: start, keyEnd: keyEnd, end: bytes.count))
    }

    mutating func append(_ other: ValidatedReports) {
        let offset = bytes.count
        bytes += other.bytes
        tapsByIndex.merge(other.tapsByIndex) { $1 }
        records += other.records.map {
            RecordRange(
                index: $0.index, start: $0.start + offset, keyEnd: $0.keyEnd + offset, end: $0.end + offset)
        }
    }

    /// Moves accepted reports that exceed a limit to the refused ones, by their keys.
    package mutating func refuse(beyond limit: RateLimit, where isBeyond: (Span<UInt8>) -> Bool) {
        let candidates = records
        records = []
        for place in candidates {
            if isBeyond(bytes.span.extracting(place.start..<place.keyEnd)) {
                refused.append(RefusedReport(index: place.index, problems: [], limit: limit))
            } else {
                records.append(place)
            }
        }
        if records.count < candidates.count { refused.sort { $0.index < $1.index } }
    }

    /// Lends the key and value of an accepted report.
    package func withRecord<Result>(
        at index: Int, body: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Result
    ) -> Result {
        let place = records[index]
        let span = bytes.span
        return body(
            span.extracting(place.start..<place.keyEnd), span.extracting(place.keyEnd..<place.end))
    }

    /// Returns a copy of an accepted report's key and value.
    package func copyRecord(at index: Int) -> (key: [UInt8], value: [UInt8]) {
        let place = records[index]
        return (Array(bytes[place.start..<place.keyEnd]), Array(bytes[place.keyEnd..<place.end]))
    }
}
