internal import APNs
package import Jobs

// The origin of a sheet's jobs: the position where they were first stored, and their lines there. Jobs from a tier
// keep their origin, and so does a dead letter that a person may send again. A sheet at its first position is its own
// origin.
extension Sheet {
    /// Returns the number that the line had on the sheet where its job was first stored.
    package func originLine(_ line: Int) -> Int { originLines?[line] ?? line }

    /// Returns the numbers that lines had on the sheet where their jobs were first stored.
    func originLines(of lines: LineSet) -> LineSet {
        guard let originLines else { return lines }
        var numbers = LineSet()
        lines.forEachLine { numbers.append(originLines[$0]) }
        return numbers
    }

    /// Returns the origin of jobs, for a dead letter that a person may send again.
    package func origin(of lines: LineSet, reason: String?) -> SheetOrigin {
        SheetOrigin(
            topic: originPosition.topic, partition: originPosition.partition, offset: originPosition.offset,
            lines: originLines(of: lines), attempt: attempt, earlierTries: earlierTries, dueAt: 0,
            reason: reason)
    }

    /// Returns the origin of jobs that wait in a tier for their next attempt.
    func origin(
        of lines: LineSet, in tier: LaterTier, tries: Int, reason: String?, at time: CurrentTime
    ) -> SheetOrigin {
        SheetOrigin(
            topic: originPosition.topic, partition: originPosition.partition, offset: originPosition.offset,
            lines: originLines(of: lines), attempt: min(attempt + 1, SheetOrigin.attemptMax),
            earlierTries: tries,
            dueAt: time.unixMilliseconds + Int64(tier.waitMilliseconds), reason: reason)
    }

    /// Returns the progress of a line's job according to `receipts`.
    func recordedProgress(of line: Int) -> ReceiptLedger.RecordedProgress {
        lane.ledger.progress(of: originLine(line), at: originPosition, attempt: attempt)
    }

    /// Whether APNs refused the sheet's tokens before. Such jobs use the suspect connections.
    var wasRefusedBefore: Bool { tierAfterRefusal != nil }

    /// The tier in which the sheet waited after that refusal; nil if APNs did not refuse its tokens.
    var tierAfterRefusal: LaterTier? {
        guard reason.flatMap(APNsReason.init(text:))?.disposition == .tokenSuspect else { return nil }
        return topic.tier
    }
}
