/// What became of one send's jobs so far, as its receipts say. Of several outcomes of a job the first counts.
package struct SendOutcomes: Sendable {
    package private(set) var counts: [ReceiptOutcome: Int] = [:]
    /// How many were rejected, by APNs' reason or ours.
    package private(set) var reasons: [String: Int] = [:]
    /// Jobs that have their last word.
    package private(set) var decided = 0
    /// Milliseconds since 1970: when the last of them was written.
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

    /// How many of them had no last word yet.
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
