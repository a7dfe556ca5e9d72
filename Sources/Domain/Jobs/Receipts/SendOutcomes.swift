/// The outcomes of one send's jobs so far, counted from its receipts, for a person who watches the send. The
/// first final outcome of a job counts, so a receipt that is read twice changes nothing.
package struct SendOutcomes: Sendable {
    package private(set) var counts: [ReceiptOutcome: Int] = [:]
    /// The number of rejected jobs by reason, from APNs or from Flotilla.
    package private(set) var reasons: [String: Int] = [:]
    /// The number of jobs with a final outcome.
    package private(set) var finalJobs = 0
    /// The time of the newest final outcome, in milliseconds since 1970.
    package private(set) var lastFinalAt: Int64?
    /// The lines with a final outcome, by the position of their sheet.
    private var finalLines: [JobPosition: LineBitmap] = [:]

    package init() {}

    /// The number of jobs with this outcome.
    package subscript(_ outcome: ReceiptOutcome) -> Int { counts[outcome] ?? 0 }

    /// Counts the final outcomes of a receipt, except those of jobs that have one already.
    package mutating func add(_ receipt: Receipt) {
        for part in receipt.parts where part.outcome.isFinal {
            let newCount = markFinal(part.lines, at: receipt.position)
            guard newCount > 0 else { continue }
            finalJobs += newCount
            counts[part.outcome, default: 0] += newCount
            lastFinalAt = max(lastFinalAt ?? 0, receipt.writtenAt)
            if part.outcome == .rejected { reasons[part.reason ?? "no reason", default: 0] += newCount }
        }
    }

    /// Marks the lines as final and returns the number of lines that had no final outcome before.
    private mutating func markFinal(_ lines: LineSet, at position: JobPosition) -> Int {
        var newCount = 0
        var marked = finalLines[position] ?? LineBitmap()
        lines.forEachLine { line in
            if !marked.contains(line) { newCount += 1 }
            marked.insert(line)
        }
        finalLines[position] = marked
        return newCount
    }
}
