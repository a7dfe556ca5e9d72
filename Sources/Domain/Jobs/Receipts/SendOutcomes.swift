/// The outcomes of one send's jobs so far, from its receipts. The first final outcome of a job counts.
package struct SendOutcomes: Sendable {
    package private(set) var counts: [ReceiptOutcome: Int] = [:]
    /// The number of rejected jobs by reason, from APNs or from Flotilla.
    package private(set) var reasons: [String: Int] = [:]
    /// The number of jobs with a final outcome.
    package private(set) var finalJobs = 0
    /// The time of the newest final outcome, in milliseconds since 1970.
    package private(set) var lastFinalAt: Int64?
    private var lines: [JobPosition: LineBitmap] = [:]

    package init() {}

    package subscript(_ outcome: ReceiptOutcome) -> Int { counts[outcome] ?? 0 }

    package mutating func add(_ receipt: Receipt) {
        for part in receipt.parts where part.outcome.isFinal {
            let fresh = markFinal(part.lines, at: receipt.position)
            guard fresh > 0 else { continue }
            finalJobs += fresh
            counts[part.outcome, default: 0] += fresh
            lastFinalAt = max(lastFinalAt ?? 0, receipt.writtenAt)
            if part.outcome == .rejected { reasons[part.reason ?? "no reason", default: 0] += fresh }
        }
    }

    /// Marks the lines as decided and returns the number of lines that had no final outcome before.
    private mutating func markFinal(_ set: LineSet, at place: JobPosition) -> Int {
        var fresh = 0
        var bits = lines[place] ?? LineBitmap()
        set.forEachLine { line in
            if !bits.contains(line) { fresh += 1 }
            bits.insert(line)
        }
        lines[place] = bits
        return fresh
    }
}
