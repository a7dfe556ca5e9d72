internal import InstallationRecords
internal import Kafka

extension Kafka.Record {
    /// The time and the offset at which a report first arrived. A forwarded report has them in its headers. Nil for a
    /// record without a timestamp.
    var arrival: ReportArrival? {
        guard let stampedAt = timestamp else { return nil }
        guard let firstStampedAt = number(in: Report.receivedAtHeader) else {
            return ReportArrival(receivedAt: stampedAt, offset: offset)
        }
        // A header can only make the arrival earlier than the record's own stamp, never later.
        return ReportArrival(
            receivedAt: min(stampedAt, firstStampedAt), offset: number(in: Report.offsetHeader) ?? offset)
    }

    /// Whether this is a copy of a record for all partitions.
    var isCopyForAllPartitions: Bool {
        // Only the presence of the header counts. Its value is empty.
        headers.last(named: Report.allPartitionsHeader) != nil
    }

    /// The numbers of digits with which a number fits into an `Int64` in any case.
    private static var digitCounts: ClosedRange<Int> { 1...15 }

    /// Returns the decimal number in a header, or nil if the header is missing or is not a number.
    private func number(in header: StaticString) -> Int64? {
        guard let header = headers.last(named: header), let digits = header.value,
            Self.digitCounts.contains(digits.count)
        else { return nil }
        var number: Int64 = 0
        for index in 0..<digits.count {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digits[index]) else { return nil }
            number = number * 10 + Int64(digits[index] - UInt8(ascii: "0"))
        }
        return number
    }
}
