internal import Identifiers
package import Jobs
package import Kafka
package import RecordFormat

/// A dead letter: the original record and the reason of its stage. Its bytes are secret.
package struct DeadLetterRecord: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?
    }

    /// The header of a redriven record with the name of its dead letter. Each redrive adds one.
    package static let redrivenHeader: StaticString = "flotilla-redriven"

    package let id: DeadLetterID
    package let rejection: DeadLetter
    package let key: [UInt8]?
    package let value: [UInt8]?
    /// The headers of the original record, in order.
    package let headers: [Header]

    /// Returns nil if the record is a mark or has an unknown version.
    package init?(_ record: borrowing Kafka.Record) {
        let list = record.headers
        var own: [Header] = []
        var reasons: [(name: String, value: String)] = []
        for index in 0..<list.count {
            let name = [UInt8](copying: list[index].name)
            let value = [UInt8](copying: list[index].value)
            let text = String(decoding: name, as: UTF8.self)
            if DeadLetter.Header(rawValue: text) != nil {
                reasons.append((text, String(decoding: value ?? [], as: UTF8.self)))
            } else {
                own.append(Header(name: name, value: value))
            }
        }
        guard let why = DeadLetter(headers: reasons) else { return nil }
        id = DeadLetterID(partition: record.partition, offset: record.offset)
        self.rejection = why
        key = [UInt8](copying: record.key)
        value = [UInt8](copying: record.value)
        headers = own
    }

    package func header(named name: StaticString) -> [UInt8]? {
        let wanted = Array(name.description.utf8)
        return headers.last { $0.name == wanted }?.value
    }

    /// The app of the record, if the record names one.
    package var app: String? {
        if let lines = header(named: SheetHeaderName.flotilla) {
            let prefix = "\(SheetLineName.app.rawValue): "
            let line = String(decoding: lines, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix(prefix)
            }
            if let app = line?.dropFirst(prefix.count), AppIDRules.problem(String(app)) == nil {
                return String(app)
            }
        }
        guard let app = key.flatMap({ RecordKey.split($0) })?.first, AppIDRules.problem(app) == nil else {
            return nil
        }
        return app
    }

    /// The number of pushes in a sheet, or one for any other record.
    package var jobCount: Int {
        guard let lines = header(named: SheetHeaderName.to) else { return 1 }
        return max(1, lines.count { $0 == UInt8(ascii: "\n") })
    }

    /// The names of the earlier dead letters of this record, the oldest first.
    package var previousIDs: [String] {
        let wanted = Array(Self.redrivenHeader.description.utf8)
        return headers.filter { $0.name == wanted }.map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    var bytes: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
            $0 + $1.name.count + ($1.value?.count ?? 0)
        }
    }

    /// The sheet, or nil if the record is not a readable sheet.
    package var sheet: DeadLetterSheet? { DeadLetterSheet(self) }
}

/// A dead letter that is a sheet of jobs.
package struct DeadLetterSheet: Sendable {
    package let head: SheetHead
    package let index: SheetIndex
    /// The place of the sheet in which the jobs were first written.
    package let position: JobPosition
    /// The lines of the jobs in that first sheet.
    package let lines: LineSet
    private let to: [UInt8]

    fileprivate init?(_ letter: DeadLetterRecord) {
        guard letter.value != nil, let apns = letter.header(named: SheetHeaderName.apns),
            let flotilla = letter.header(named: SheetHeaderName.flotilla),
            let to = letter.header(named: SheetHeaderName.to),
            let head = try? SheetHead(apns: apns.span, flotilla: flotilla.span),
            let index = try? SheetIndex(parsing: to)
        else { return nil }
        (self.head, self.index, self.to) = (head, index, to)
        if let bytes = letter.header(named: SheetHeaderName.origin) {
            guard let origin = try? SheetOrigin(parsing: bytes.span), origin.lines.count == index.lines.count
            else {
                return nil
            }
            position = JobPosition(topic: origin.topic, partition: origin.partition, offset: origin.offset)
            lines = origin.lines
        } else {
            position = JobPosition(
                topic: letter.rejection.topic, partition: letter.rejection.partition,
                offset: letter.rejection.offset)
            lines = LineSet(all: index.lines.count)
        }
    }

    package func text(in part: Range<Int32>) -> String {
        String(decoding: to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }
}
