package import Kafka
package import LiveActivity

/// A dead letter: the record as it came, and why a stage could not use it. Its bytes are secrets.
package struct Letter: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?
    }

    /// A header of a record that was sent again: of which letter. Each time is one more.
    package static let redriven: StaticString = "flotilla-redriven"

    package let name: LetterName
    package let why: DeadLetter
    package let key: [UInt8]?
    package let value: [UInt8]?
    /// The record's own, in their order.
    package let headers: [Header]

    /// Nil for what is no letter: a mark, or of a version that nobody knows.
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

    /// The app that it is of, as far as it says so.
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

    /// Pushes that it stands for; one of what is no sheet.
    package var jobs: Int {
        guard let lines = header(SheetHeader.to) else { return 1 }
        return max(1, lines.count { $0 == UInt8(ascii: "\n") })
    }

    /// Letters that it was before, the first of them first.
    package var before: [String] {
        let wanted = Array(Self.redriven.description.utf8)
        return headers.filter { $0.name == wanted }.map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    var bytes: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
            $0 + $1.name.count + ($1.value?.count ?? 0)
        }
    }

    /// The sheet that it is; nil for other records, and for what cannot be read as one.
    package var sheet: LetterSheet? { LetterSheet(self) }
}

/// A letter that is a sheet of jobs.
package struct LetterSheet: Sendable {
    package let head: SheetHead
    package let index: SheetIndex
    /// Where its jobs first stood.
    package let place: JobPlace
    /// The lines that they were there.
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
