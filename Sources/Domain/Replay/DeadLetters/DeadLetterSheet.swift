internal import Cryptography
internal import Identifiers
package import Jobs
internal import RecordFormat

/// The jobs of a dead letter that is a sheet.
package struct DeadLetterSheet: Sendable {
    package let head: SheetHead
    package let index: SheetIndex
    /// The position of the sheet in which the jobs were first written.
    package let position: JobPosition
    /// The lines of the jobs in that first sheet.
    package let lines: LineSet
    /// The lines of this sheet whose tokens APNs had never accepted.
    let unprovenLines: LineSet
    /// The header `to`, into which the index points.
    private let to: [UInt8]

    /// Returns nil if the dead letter is not a readable sheet.
    init?(_ letter: DeadLetterRecord) {
        guard letter.value != nil, let apns = letter.header(named: SheetHeaderName.apns),
            let flotilla = letter.header(named: SheetHeaderName.flotilla),
            let to = letter.header(named: SheetHeaderName.to),
            let head = try? SheetHead(apns: apns.span, flotilla: flotilla.span),
            let index = try? SheetIndex(parsing: to),
            let unproven = try? UnprovenLines.parse(
                letter.header(named: SheetHeaderName.unproven), lineCount: index.lines.count)
        else { return nil }
        (self.head, self.index, self.to, unprovenLines) = (head, index, to, unproven)
        if let bytes = letter.header(named: SheetHeaderName.origin) {
            // The jobs waited in a tier before, and the header `origin` names their first position.
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

    /// Returns a part of the header `to`.
    package func text(in part: Range<Int32>) -> String {
        String(decoding: to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }
}

extension DeadLetterSheet {
    /// The addressees, in the order of the lines.
    var addressees: [Addressee] {
        index.lines.map { line in
            Addressee(
                installation: text(in: line.installation), entry: text(in: line.entry),
                recipient: text(in: line.recipient))
        }
    }

    /// All jobs, by their lines in the sheet in which they were first written.
    var allJobs: DeadLetterMark.SheetLines { DeadLetterMark.SheetLines(position: position, lines: lines) }

    /// Returns the jobs at some lines of this sheet, by their lines in the sheet in which they were first
    /// written.
    func jobs(atLines wanted: LineSet) -> [DeadLetterMark.SheetLines] {
        var firstLines: [Int] = []
        lines.forEachLine { firstLines.append($0) }
        var wantedFirstLines = LineSet()
        wanted.forEachLine { wantedFirstLines.append(firstLines[$0]) }
        return [DeadLetterMark.SheetLines(position: position, lines: wantedFirstLines)]
    }
}

/// One job of a dead letter, for people.
package struct DeadLetterJob: Sendable {
    package let installation: String
    package let entry: String
    package let recipient: String
    /// The first four bytes of the SHA-256 digest of the stored token, such as `tok:0a1b2c3d`.
    package let token: String
}

extension DeadLetterSheet {
    private static let redactedByteCount = 4

    package var jobs: [DeadLetterJob] {
        index.lines.map { line in
            DeadLetterJob(
                installation: text(in: line.installation), entry: text(in: line.entry),
                recipient: text(in: line.recipient), token: Self.redacted(text(in: line.token)))
        }
    }

    /// Returns a digest of the token as it is stored, sealed or not.
    private static func redacted(_ token: String) -> String {
        "tok:" + Hex.text(of: Array(SHA256.digest(of: Array(token.utf8)).prefix(redactedByteCount)))
    }
}
