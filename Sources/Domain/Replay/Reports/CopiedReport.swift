internal import InstallationRecords
internal import Kafka
internal import Topics

/// A copy of a report, which an earlier call has appended to the report's partition. Its header
/// `flotilla-replayed` names the call and the original, such as `june-outage/1042`.
struct CopiedReport {
    /// The name of the call.
    let run: String
    /// The offset of the original.
    let offset: Int64

    /// Returns nil if the report is not a copy.
    init?(_ record: borrowing Kafka.Record) {
        guard let header = record.headers.last(named: ReportReplay.header),
            let value = [UInt8](copying: header.value)
        else { return nil }
        let parts = String(decoding: value, as: UTF8.self).split(separator: "/")
        guard parts.count == 2, let offset = Int64(parts[1]) else { return nil }
        (run, self.offset) = (String(parts[0]), offset)
    }

    /// Returns a copy of a report to append.
    ///
    /// The copy has the time and the offset of the report's first arrival in headers. A report that was
    /// forwarded from another partition already has them.
    static func copy(of record: borrowing Kafka.Record, by run: String) -> OutgoingRecord {
        var headers: [DeadLetterRecord.Header] = []
        let recordHeaders = record.headers
        var hasArrival = false
        for index in 0..<recordHeaders.count {
            let name = [UInt8](copying: recordHeaders[index].name)
            if name == Array(Report.receivedAtHeader.description.utf8) { hasArrival = true }
            headers.append(
                DeadLetterRecord.Header(name: name, value: [UInt8](copying: recordHeaders[index].value)))
        }
        func addHeader(_ name: StaticString, value: String) {
            headers.append(
                DeadLetterRecord.Header(name: Array(name.description.utf8), value: Array(value.utf8)))
        }
        if !hasArrival, let time = record.timestamp {
            addHeader(Report.receivedAtHeader, value: String(time))
            addHeader(Report.offsetHeader, value: String(record.offset))
        }
        addHeader(ReportReplay.header, value: "\(run)/\(record.offset)")
        return OutgoingRecord(
            topic: .reports, partition: record.partition, key: [UInt8](copying: record.key),
            value: [UInt8](copying: record.value), headers: headers)
    }
}
