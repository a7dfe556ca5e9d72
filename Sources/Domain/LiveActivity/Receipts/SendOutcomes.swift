/// The outcomes of one send's jobs so far, from its receipts. The first final outcome of a job counts.
package struct SendOutcomes: Sendable {
    package private(set) var counts: [ReceiptOutcome: Int] = [:]
    /// The number of rejected jobs by reason, from APNs or from Flotilla.
    package private(set) var reasons: [String: Int] = [:]
    /// The number of jobs with a final outcome.
    package private(set) var decided = 0
    /// The time of the newest final outcome, in milliseconds since 1970.
    package private(set) var decidedAt: Int64?
    private var lines: [JobPlace: LineBits] = [:]

    package init() {}

    package subscript(_ outcome: ReceiptOutcome) -> Int { counts[outcome] ?? 0 }

    package mutating func hear(_ receipt: Receipt) {
        for part in receipt.parts where part.outcome.isFinal {
            let fresh = insert(part.lines, at: receipt.place)
            guard fresh > 0 else { continue }
            decided += fresh
            counts[part.outcome, default: 0] += fresh
            decidedAt = max(decidedAt ?? 0, receipt.at)
            if part.outcome == .rejected { reasons[part.reason ?? "no reason", default: 0] += fresh }
        }
    }

    /// Marks the lines as decided and returns the number of lines that had no final outcome before.
    private mutating func insert(_ set: LineSet, at place: JobPlace) -> Int {
        var fresh = 0
        var bits = lines[place] ?? LineBits()
        set.forEachLine { line in
            if !bits.contains(line) { fresh += 1 }
            bits.insert(line)
        }
        lines[place] = bits
        return fresh
    }
}
