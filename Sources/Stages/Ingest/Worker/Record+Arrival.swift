internal import InstallationRecords
internal import Kafka

extension Kafka.Record {
    /// The time and the offset at which a report first arrived, or nil without a timestamp. A forwarded
    /// report has them in its headers.
    var arrival: ReportArrival? {
        guard let stampedAt = timestamp else { return nil }
        guard let first = number(in: Report.receivedAtHeader) else {
            return ReportArrival(receivedAt: stampedAt, offset: offset)
        }
        return ReportArrival(
            receivedAt: min(stampedAt, first), offset: number(in: Report.offsetHeader) ?? offset)
    }

    /// Whether this is a copy of a record for all partitions.
    var isCopyForAllPartitions: Bool {
        guard let header = headers.last(named: Report.allPartitionsHeader) else { return false }
        return header.name.count > 0
    }

    private func number(in header: StaticString) -> Int64? {
        guard let header = headers.last(named: header), let digits = header.value,
            (1...15).contains(digits.count)
        else { return nil }
        var number: Int64 = 0
        for index in 0..<digits.count {
            guard (0x30...0x39).contains(digits[index]) else { return nil }
            number = number * 10 + Int64(digits[index] - 0x30)
        }
        return number
    }
}
