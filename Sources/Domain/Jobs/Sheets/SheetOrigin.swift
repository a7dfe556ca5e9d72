/// The history of jobs that wait for another attempt or were sent again from the dead letters: the position
/// at which they were first written, and their attempts so far. It is the header `origin` of a sheet. A sheet
/// at its first position has none.
package struct SheetOrigin: Sendable, Hashable {
    /// The largest number that `attempt` and `earlierTries` may have in a record.
    package static let attemptMax = 1_000_000

    // The first position. With the line's number it identifies a job through all its attempts.

    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// The numbers that the sheet's lines had at the first position, in order.
    package var lines: LineSet

    // The attempts.

    /// The number of the attempt that this sheet is for, from 1. Each move to a topic for jobs that wait, such
    /// as `jobs.later.5s`, adds one.
    package var attempt: Int
    /// The number of tries before this attempt: pushes that count against `SheetHead.triesMax`. Pushes that failed
    /// because of an app's setting do not count.
    package var earlierTries: Int
    /// Milliseconds since 1970 before which the jobs are not pushed.
    package var dueAt: Int64
    /// The reason why the last attempt was not final.
    package var reason: String?

    package init(
        topic: String, partition: Int32, offset: Int64, lines: LineSet, attempt: Int, earlierTries: Int = 0,
        dueAt: Int64, reason: String? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.lines = lines
        self.attempt = attempt
        self.earlierTries = earlierTries
        self.dueAt = dueAt
        self.reason = reason
    }

    /// The value of the header `origin`.
    package var headerValue: [UInt8] {
        var writer = HeaderLinesWriter()
        writer.append(.firstTopic, value: topic)
        writer.append(.partition, value: Int64(partition))
        writer.append(.offset, value: offset)
        writer.append(.lines, value: lines.text)
        writer.append(.attempt, value: Int64(attempt))
        writer.append(.tries, value: earlierTries == 0 ? nil : String(earlierTries))
        writer.append(.dueAt, value: dueAt)
        writer.append(.reason, value: reason)
        return writer.bytes
    }

    package init(parsing bytes: Span<UInt8>) throws(SheetError) {
        let header = try HeaderLines(parsing: bytes)
        guard let lines = LineSet(text: try header.text(of: .lines)) else { throw .invalid(.lines) }
        self.init(
            topic: try header.name(of: .firstTopic),
            partition: Int32(try header.number(of: .partition, in: 0...Int64(Int32.max))),
            offset: try header.number(of: .offset), lines: lines,
            attempt: Int(try header.number(of: .attempt, in: 1...Int64(Self.attemptMax))),
            earlierTries: Int(try header.optionalNumber(of: .tries, in: 0...Int64(Self.attemptMax)) ?? 0),
            dueAt: try header.number(of: .dueAt), reason: header.optionalText(of: .reason))
    }
}
