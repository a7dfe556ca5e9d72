internal import Jobs
internal import Kafka
internal import Topics

/// A stored sheet of a send, and the lines of its jobs that are pushed again.
struct ResentSheet {
    /// The position at which the jobs were first written.
    let position: JobPosition
    let head: SheetHead
    let index: SheetIndex
    /// The lines to push again. The version check removes lines from it.
    var lines: LineSet
    /// The lines whose tokens APNs had never accepted.
    private let unprovenLines: LineSet
    /// The payload, and the headers `apns` and `to`.
    private let body: [UInt8]
    private let apns: [UInt8]
    private let to: [UInt8]

    /// Returns nil if the record is not a readable sheet or has no wanted line.
    ///
    /// - Parameter isWanted: Whether the job at a line of this record is to be pushed again.
    init?(_ record: borrowing Kafka.Record, at position: JobPosition, isWanted: (Int) -> Bool) {
        let headers = record.headers
        guard let body = [UInt8](copying: record.value),
            let apns = Self.bytes(of: SheetHeaderName.apns, in: headers),
            let flotilla = Self.bytes(of: SheetHeaderName.flotilla, in: headers),
            let to = Self.bytes(of: SheetHeaderName.to, in: headers),
            let head = try? SheetHead(apns: apns.span, flotilla: flotilla.span),
            let index = try? SheetIndex(parsing: to),
            let unproven = try? UnprovenLines.parse(
                Self.bytes(of: SheetHeaderName.unproven, in: headers), lineCount: index.lines.count)
        else { return nil }
        var wanted = LineSet()
        for line in index.lines.indices where isWanted(line) { wanted.append(line) }
        guard !wanted.isEmpty else { return nil }
        self.position = position
        (self.head, self.index, self.body, self.apns, self.to) = (head, index, body, apns, to)
        (lines, unprovenLines) = (wanted, unproven)
    }

    /// Returns the send of the jobs in a record, or nil if the record is not a readable sheet.
    static func send(of record: borrowing Kafka.Record) -> String? {
        let headers = record.headers
        guard let apns = bytes(of: SheetHeaderName.apns, in: headers),
            let flotilla = bytes(of: SheetHeaderName.flotilla, in: headers)
        else { return nil }
        return try? SheetHead(apns: apns.span, flotilla: flotilla.span).send
    }

    private static func bytes(of name: StaticString, in headers: borrowing RecordHeaderList) -> [UInt8]? {
        guard let header = headers.last(named: name) else { return nil }
        return [UInt8](copying: header.value)
    }

    /// The jobs to push again, for a mark.
    var jobs: DeadLetterMark.SheetLines { DeadLetterMark.SheetLines(position: position, lines: lines) }

    var byteCount: Int { body.count + apns.count + to.count }

    func addressee(at line: Int) -> Addressee {
        func text(in part: Range<Int32>) -> String {
            String(decoding: to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
        }
        let line = index.lines[line]
        return Addressee(
            installation: text(in: line.installation), entry: text(in: line.entry),
            recipient: text(in: line.recipient))
    }

    /// Returns the record to send: the jobs at `lines`, as jobs of another send, at new positions. It goes to
    /// a retry tier, for the reason in `RedrivenRecord`.
    func outgoingRecord(as send: String, in lane: Int32) -> OutgoingRecord {
        var head = head
        head.send = send
        func header(_ name: StaticString, value: [UInt8]) -> DeadLetterRecord.Header {
            DeadLetterRecord.Header(name: Array(name.description.utf8), value: value)
        }
        var headers = [
            header(SheetHeaderName.apns, value: apns),
            header(SheetHeaderName.flotilla, value: head.flotillaLines),
            header(SheetHeaderName.to, value: index.encodedLines(lines, from: to)),
        ]
        if let unproven = UnprovenLines.headerValue(of: lines.positions(of: unprovenLines)) {
            headers.append(header(SheetHeaderName.unproven, value: unproven))
        }
        headers.append(header(DeadLetterRecord.redrivenHeader, value: Array(name.utf8)))
        return OutgoingRecord(
            topic: .jobsLater5s, partition: lane, key: nil, value: body, headers: headers)
    }

    /// The value of the header `DeadLetterRecord.redrivenHeader`, such as `jobs/3/1042`.
    var name: String { Self.name(of: position) }

    static func name(of position: JobPosition) -> String {
        "\(position.topic)/\(position.partition)/\(position.offset)"
    }
}
