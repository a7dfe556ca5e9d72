internal import InstallationRecords
package import JSON
internal import RecordFormat

/// The result of checking a body of reports: the valid reports as records of the topic `reports`, and the problems
/// of the others.
package struct ValidatedReports: Sendable {
    /// A report that is not stored.
    package struct RefusedReport: Sendable, Equatable {
        /// The report's index in the body, from 0.
        package let index: Int
        /// The problems. Their paths start at the report.
        package let problems: [JSONProblem]
        /// The exceeded limit. If there is one, the report is valid, and the client may send it later.
        package var limit: ExceededLimit?
    }

    /// A valid report of a tap. The answer says to which activity, send and schedule the tap is attributed.
    package struct Tap: Sendable, Equatable {
        /// The report, as it is stored.
        fileprivate var report: Report

        package var installation: String? { report.installation }
        package var activity: String? { report.activity }
        package var group: String? { report.group }
        package var sendID: String? { report.sendID }
        package var scheduleID: String? { report.scheduleID }
        package var scheduleName: String? { report.scheduleName }

        init?(report: Report) {
            guard report.kind == .tap else { return nil }
            self.report = report
        }
    }

    /// The position of a record in `bytes`: the key from `start` to `keyEnd`, the value from there to `end`.
    private struct RecordRange {
        /// The report's index in the body.
        let index: Int
        let start: Int
        let keyEnd: Int
        let end: Int
    }

    /// The keys and values of all records in one buffer.
    private var bytes: [UInt8] = []
    private var records: [RecordRange] = []
    /// Taps by their index in the body.
    private var tapsByIndex: [Int: Tap] = [:]
    package internal(set) var refused: [RefusedReport] = []

    package var acceptedCount: Int { records.count }

    /// Taps of the accepted reports, in the body's order.
    package var taps: [(index: Int, tap: Tap)] {
        if tapsByIndex.isEmpty { return [] }
        return records.compactMap { record in tapsByIndex[record.index].map { (record.index, $0) } }
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

    /// Adds the send and the schedule behind a tap. A schedule that the phone has named stays.
    ///
    /// - Parameter index: The report's index in the body.
    package mutating func attribute(tapAt index: Int, to origin: TapOrigin) {
        guard var tap = tapsByIndex[index], let position = records.firstIndex(where: { $0.index == index })
        else { return }
        tap.report.sendID = origin.sendID
        if tap.report.scheduleID == nil, tap.report.scheduleName == nil {
            (tap.report.scheduleID, tap.report.scheduleName) = (origin.scheduleID, origin.scheduleName)
        }
        tapsByIndex[index] = tap
        // The new record is at the end of the buffer. The bytes of the old one are not used any more.
        let start = bytes.count
        bytes += tap.report.key
        let keyEnd = bytes.count
        bytes += tap.report.encoded()
        records[position] = RecordRange(index: index, start: start, keyEnd: keyEnd, end: bytes.count)
    }

    /// Adds the accepted reports of another result.
    mutating func append(_ other: ValidatedReports) {
        let shift = bytes.count
        bytes += other.bytes
        tapsByIndex.merge(other.tapsByIndex) { $1 }
        records += other.records.map {
            RecordRange(
                index: $0.index, start: $0.start + shift, keyEnd: $0.keyEnd + shift, end: $0.end + shift)
        }
    }

    /// Refuses accepted reports that exceed a limit.
    ///
    /// - Parameter exceededLimit: Receives the key of each record, and returns the limit that the report exceeds.
    package mutating func refuse(beyond exceededLimit: (Span<UInt8>) -> ExceededLimit?) {
        let candidates = records
        records = []
        for record in candidates {
            if let limit = exceededLimit(bytes.span.extracting(record.start..<record.keyEnd)) {
                refused.append(RefusedReport(index: record.index, problems: [], limit: limit))
            } else {
                records.append(record)
            }
        }
        if records.count < candidates.count { refused.sort { $0.index < $1.index } }
    }

    /// Calls `body` with the key and value of an accepted report, without a copy.
    ///
    /// - Parameter index: The number of the accepted report, from 0. It is not the report's index in the body.
    package func withRecord<Result>(
        at index: Int, body: (_ key: Span<UInt8>, _ value: Span<UInt8>) -> Result
    ) -> Result {
        let record = records[index]
        let span = bytes.span
        return body(
            span.extracting(record.start..<record.keyEnd), span.extracting(record.keyEnd..<record.end))
    }

    /// Returns a copy of an accepted report's key and value. The index is the same as in `withRecord`.
    package func copyRecord(at index: Int) -> (key: [UInt8], value: [UInt8]) {
        let record = records[index]
        return (Array(bytes[record.start..<record.keyEnd]), Array(bytes[record.keyEnd..<record.end]))
    }
}
