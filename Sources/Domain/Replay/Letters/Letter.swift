package import Kafka
package import LiveActivity

/// A dead letter: the original record and the reason of its stage. Its bytes are secret.
package struct Letter: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?
    }

    /// The header of a redriven record with the name of its dead letter. Each redrive adds one.
    package static let redriven: StaticString = "flotilla-redriven"

    package let name: LetterName
    package let why: DeadLetter
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
        name = LetterName(partition: record.partition, offset: record.offset)
        self.why = why
        key = [UInt8](copying: record.key)
        value = [UInt8](copying: record.value)
        headers = own
    }

    package func header(_ name: StaticString) -> [UInt8]? {
        let wanted = Array(name.description.utf8)
        return headers.last { $0.name == wanted }?.value
    }

    /// The app of the record, if the record names one.
    package var app: String? {
        if let lines = header(SheetHeader.flotilla) {
            let prefix = "\(SheetLine.app.rawValue): "
            let line = String(decoding: lines, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix(prefix)
            }
            if let app = line?.dropFirst(prefix.count), AppID.problem(String(app)) == nil {
                return String(app)
            }
        }
        guard let app = key.flatMap({ RecordKey.split($0) })?.first, AppID.problem(app) == nil else {
            return nil
        }
        return app
    }

    /// The number of pushes in a sheet, or one for any other record.
    package var jobs: Int {
        guard let lines = header(SheetHeader.to) else { return 1 }
        return max(1, lines.count { $0 == UInt8(ascii: "\n") })
    }

    /// The names of the earlier dead letters of this record, the oldest first.
    package var before: [String] {
        let wanted = Array(Self.redriven.description.utf8)
        return headers.filter { $0.name == wanted }.map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    var bytes: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
            $0 + $1.name.count + ($1.value?.count ?? 0)
        }
    }

    /// The sheet, or nil if the record is not a readable sheet.
    package var sheet: LetterSheet? { LetterSheet(self) }
}

/// A dead letter that is a sheet of jobs.
package struct LetterSheet: Sendable {
    package let head: SheetHead
    package let index: SheetIndex
    /// The place of the sheet in which the jobs were first written.
    package let place: JobPlace
    /// The lines of the jobs in that first sheet.
    package let lines: LineSet
    private let to: [UInt8]

    fileprivate init?(_ letter: Letter) {
        guard letter.value != nil, let apns = letter.header(SheetHeader.apns),
            let flotilla = letter.header(SheetHeader.flotilla), let to = letter.header(SheetHeader.to),
            let head = try? SheetHead(apns: apns.span, flotilla: flotilla.span),
            let index = try? SheetIndex(to)
        else { return nil }
        (self.head, self.index, self.to) = (head, index, to)
        if let bytes = letter.header(SheetHeader.origin) {
            guard let origin = try? SheetOrigin(bytes.span), origin.lines.count == index.lines.count else {
                return nil
            }
            place = JobPlace(topic: origin.topic, partition: origin.partition, offset: origin.offset)
            lines = origin.lines
        } else {
            place = JobPlace(
                topic: letter.why.topic, partition: letter.why.partition, offset: letter.why.offset)
            lines = LineSet(all: index.lines.count)
        }
    }

    package func text(_ part: Range<Int32>) -> String {
        String(decoding: to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }
}
