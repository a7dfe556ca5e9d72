internal import Jobs
internal import Kafka

/// The parser for records of a jobs topic. It copies the parts of a sheet out of the record, whose memory belongs to
/// the Kafka library.
enum SheetParser {
    /// A record as the plan takes it.
    enum ParsedRecord {
        case sheet(SheetRecord)
        case malformed(MalformedSheet)
    }

    static func read(_ record: borrowing Kafka.Record, from topic: JobTopic) -> ParsedRecord {
        let headers = record.headers
        do throws(SheetError) {
            guard let value = record.value else { throw .noJobs }
            let content = SheetContent(
                body: [UInt8](copying: value),
                apns: try bytes(of: SheetHeaderName.apns, in: headers, for: .topic),
                flotilla: try bytes(of: SheetHeaderName.flotilla, in: headers, for: .version),
                to: try bytes(of: SheetHeaderName.to, in: headers, for: .lines))
            return .sheet(
                try SheetRecord(
                    content, origin: optionalBytes(of: SheetHeaderName.origin, in: headers),
                    unproven: optionalBytes(of: SheetHeaderName.unproven, in: headers),
                    writtenAt: record.isStampedByCluster ? record.timestamp : nil))
        } catch {
            return .malformed(copy(record, from: topic, error: error))
        }
    }

    /// Returns the value of a header. If there are several of this name, the last one counts.
    ///
    /// - Parameter line: the first required line of this header. The error names it if the header is missing.
    private static func bytes(
        of name: StaticString, in headers: borrowing RecordHeaderList, for line: SheetLineName
    ) throws(SheetError) -> [UInt8] {
        guard let header = headers.last(named: name), let bytes = [UInt8](copying: header.value) else {
            throw .missing(line)
        }
        return bytes
    }

    /// Returns the value of a header; nil if the record lacks the header.
    private static func optionalBytes(of name: StaticString, in headers: borrowing RecordHeaderList)
        -> [UInt8]?
    {
        guard let header = headers.last(named: name) else { return nil }
        return [UInt8](copying: header.value)
    }

    /// Returns a copy of a record that is not a sheet.
    private static func copy(
        _ record: borrowing Kafka.Record, from topic: JobTopic, error: SheetError
    ) -> MalformedSheet {
        let recordHeaders = record.headers
        var headers: [MalformedSheet.RecordHeader] = []
        for index in 0..<recordHeaders.count {
            headers.append(
                MalformedSheet.RecordHeader(
                    name: [UInt8](copying: recordHeaders[index].name),
                    value: [UInt8](copying: recordHeaders[index].value)))
        }
        return MalformedSheet(
            topic: topic, offset: record.offset, error: error, key: [UInt8](copying: record.key),
            value: [UInt8](copying: record.value), headers: headers, writtenAt: record.timestamp ?? 0)
    }
}
