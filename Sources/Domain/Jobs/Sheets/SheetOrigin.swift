/// The first position of a sheet's jobs. A sheet has it if it waits in a later retry tier or was sent again
/// from the dead letters. It identifies a job for its whole life: receipts, ledger and repetitions use it.
package struct SheetOrigin: Sendable, Hashable {
    package static let attemptMax = 1_000_000

    package var topic: String
    package var partition: Int32
    package var offset: Int64
    /// The numbers that the sheet's lines had at the first position, in order.
    package var lines: LineSet
    /// The number of the next attempt. The first is 1, and each retry tier adds one.
    package var attempt: Int
    /// The number of pushes so far that count against `SheetHead.attemptsMax`. Pushes that waited for the
    /// repair of an app's setting do not count.
    package var countedPushes: Int
    /// Milliseconds since 1970 before which the jobs are not pushed.
    package var dueAt: Int64
    /// The reason why the last attempt was not final.
    package var reason: String?

    package init(
        topic: String, partition: Int32, offset: Int64, lines: LineSet, attempt: Int, countedPushes: Int = 0,
        dueAt: Int64, reason: String? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.lines = lines
        self.attempt = attempt
        self.countedPushes = countedPushes
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
        writer.append(.tries, value: countedPushes == 0 ? nil : String(countedPushes))
        writer.append(.dueAt, value: dueAt)
        writer.append(.reason, value: reason)
        return writer.bytes
    }

    package init(parsing header: Span<UInt8>) throws(SheetError) {
        let read = try HeaderLines(parsing: header)
        guard let lines = LineSet(text: try read.text(of: .lines)) else { throw .invalid(.lines) }
        self.init(
            topic: try read.name(of: .firstTopic),
            partition: Int32(try read.number(of: .partition, in: 0...Int64(Int32.max))),
            offset: try read.number(of: .offset), lines: lines,
            attempt: Int(try read.number(of: .attempt, in: 1...Int64(Self.attemptMax))),
            countedPushes: read.optionalText(of: .tries) == nil
                ? 0 : Int(try read.number(of: .tries, in: 0...Int64(Self.attemptMax))),
            dueAt: try read.number(of: .dueAt), reason: read.optionalText(of: .reason))
    }
}
