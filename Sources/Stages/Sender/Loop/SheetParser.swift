internal import Kafka
internal import LiveActivity

/// The parser for records of a jobs topic.
enum SheetParser {
    enum Found {
        case sheet(SheetRecord)
        case malformed(MalformedSheet)
    }

    static func read(_ record: borrowing Kafka.Record, from topic: JobTopic) -> Found {
        let headers = record.headers
        do throws(SheetError) {
            guard let value = record.value else { throw .noJobs }
            let content = SheetContent(
                body: [UInt8](copying: value),
                apns: try bytes(of: SheetHeaderName.apns, in: headers, for: .topic),
                flotilla: try bytes(of: SheetHeaderName.flotilla, in: headers, for: .version),
                to: try bytes(of: SheetHeaderName.to, in: headers, for: .lines))
            var origin: [UInt8]?
            if let header = headers.last(named: SheetHeaderName.origin) {
                origin = [UInt8](copying: header.value)
            }
            return .sheet(try SheetRecord(content, origin: origin))
        } catch {
            return .malformed(copy(record, from: topic, error: error))
        }
    }

    private static func bytes(
        of name: StaticString, in headers: borrowing RecordHeaderList, for line: SheetLineName
    ) throws(SheetError) -> [UInt8] {
        guard let found = headers.last(named: name), let bytes = [UInt8](copying: found.value) else {
            throw .missing(line)
        }
        return bytes
    }

    private static func copy(
        _ record: borrowing Kafka.Record, from topic: JobTopic, error: SheetError
    ) -> MalformedSheet {
        let list = record.headers
        var headers: [MalformedSheet.RecordHeader] = []
        for index in 0..<list.count {
            headers.append(
                MalformedSheet.RecordHeader(
                    name: [UInt8](copying: list[index].name), value: [UInt8](copying: list[index].value)))
        }
        return MalformedSheet(
            topic: topic, offset: record.offset, error: error, key: [UInt8](copying: record.key),
            value: [UInt8](copying: record.value), headers: headers, writtenAt: record.timestamp ?? 0)
    }
}
