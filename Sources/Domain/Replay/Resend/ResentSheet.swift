internal import Kafka
internal import LiveActivity
internal import Topics

/// A sheet of the send as stored in its topic, with the lines that may be sent again.
struct ResentSheet {
    /// The place in which the jobs were first written.
    let place: JobPlace
    let head: SheetHead
    let index: SheetIndex
    /// The lines to be checked.
    let wanted: LineSet
    private let body: [UInt8]
    private let apns: [UInt8]
    private let to: [UInt8]

    /// Returns nil if the record is not a readable sheet or has no wanted line.
    ///
    /// - Parameter isWanted: Whether the job is wanted, by its line in the first sheet.
    init?(_ record: borrowing Kafka.Record, at place: JobPlace, _ isWanted: (Int) throws -> Bool) rethrows {
        func bytes(_ name: StaticString, _ headers: borrowing HeaderList) -> [UInt8]? {
            guard let header = headers.last(name) else { return nil }
            return [UInt8](copying: header.value)
        }
        let headers = record.headers
        guard let body = [UInt8](copying: record.value), let apns = bytes(SheetHeader.apns, headers),
            let flotilla = bytes(SheetHeader.flotilla, headers), let to = bytes(SheetHeader.to, headers),
            let head = try? SheetHead(apns: apns.span, flotilla: flotilla.span),
            let index = try? SheetIndex(to)
        else { return nil }
        var wanted = LineSet()
        for line in index.lines.indices where try isWanted(line) { wanted.append(line) }
        guard !wanted.isEmpty else { return nil }
        self.place = place
        (self.head, self.index, self.body, self.apns, self.to) = (head, index, body, apns, to)
        self.wanted = wanted
    }

    var bytes: Int { body.count + apns.count + to.count }

    func addressee(_ line: Int) -> Addressee {
        func text(_ part: Range<Int32>) -> String {
            String(decoding: to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
        }
        let line = index.lines[line]
        return Addressee(
            installation: text(line.installation), entry: text(line.entry), recipient: text(line.recipient))
    }

    /// Returns the record to send: the jobs with new places and the new send's id.
    func record(_ lines: LineSet, as send: String, in lane: Int32) -> OutgoingRecord {
        var head = head
        head.send = send
        func header(_ name: StaticString, _ value: [UInt8]) -> Letter.Header {
            Letter.Header(name: Array(name.description.utf8), value: value)
        }
        return OutgoingRecord(
            topic: .jobsLater5s, partition: lane, key: nil, value: body,
            headers: [
                header(SheetHeader.apns, apns), header(SheetHeader.flotilla, head.flotillaLines),
                header(SheetHeader.to, index.lines(lines, of: to)),
                header(Letter.redriven, Array(name.utf8)),
            ])
    }

    /// The name in the header `Letter.redriven`.
    var name: String { Self.name(place) }

    static func name(_ place: JobPlace) -> String { "\(place.topic)/\(place.partition)/\(place.offset)" }
}
