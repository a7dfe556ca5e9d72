package import LiveActivity

/// The rows as they are on disk.
package protocol ReceiptRows {
    associatedtype Failure: Error

    func finished(_ place: JobPlace) throws(Failure) -> FinishedLines?
    func tally(_ key: SendTally.Key) throws(Failure) -> SendTally?
}

/// The row changes of a batch of receipts. The first final receipt of each job counts once for its send. A
/// batch is written in one transaction with the offset of its topic, or not at all.
package struct ReceiptBatch {
    package private(set) var finished: [JobPlace: FinishedLines] = [:]
    package private(set) var tallies: [SendTally.Key: SendTally] = [:]

    package init() {}

    package var isEmpty: Bool { finished.isEmpty && tallies.isEmpty }

    /// Counts a receipt.
    ///
    /// - Parameter systems: The phones' systems in the order of the receipt's lines. Missing ones count as
    ///   unknown.
    package mutating func hear<Rows: ReceiptRows>(
        _ receipt: Receipt, on systems: [UInt8], over rows: Rows
    ) throws(Rows.Failure) {
        // Intermediate marks of a job do not contain its outcome.
        guard receipt.parts.contains(where: { $0.outcome.isFinal }) else { return }
        let key = SendTally.Key(app: receipt.app, send: receipt.send, environment: receipt.environment)
        var lines = try lines(of: receipt.place, over: rows)
        var tally = try tally(key, over: rows) ?? SendTally(receipt)
        let systemOfLine = Self.byLine(systems, receipt)
        for part in receipt.parts where part.outcome.isFinal {
            var fresh = SystemCounts()
            lines.insert(part.lines, at: receipt.at) { fresh.add(1, on: systemOfLine[$0]) }
            tally.count(
                SendTally.End(part.outcome, reason: part.outcome == .accepted ? nil : part.reason),
                on: fresh, at: receipt.at)
        }
        finished[receipt.place] = lines
        tallies[key] = tally
    }

    /// Returns the systems by the line number of a job in its sheet. The header has this order, independent
    /// of the parts.
    private static func byLine(_ systems: [UInt8], _ receipt: Receipt) -> [UInt8] {
        let count = receipt.parts.reduce(0) { max($0, ($1.lines.ranges.last?.upperBound ?? -1) + 1) }
        var found = Array(repeating: ReceiptLines.systemUnsaid, count: count)
        if systems.isEmpty { return found }
        var isNamed = Array(repeating: false, count: count)
        for part in receipt.parts { part.lines.forEachLine { isNamed[$0] = true } }
        var left = systems[...]
        for line in found.indices where isNamed[line] {
            guard let system = left.popFirst() else { break }
            found[line] = system
        }
        return found
    }

    private func lines<Rows: ReceiptRows>(
        of place: JobPlace, over rows: Rows
    ) throws(Rows.Failure) -> FinishedLines {
        if let known = finished[place] { return known }
        return try rows.finished(place) ?? FinishedLines()
    }

    private func tally<Rows: ReceiptRows>(
        _ key: SendTally.Key, over rows: Rows
    ) throws(Rows.Failure) -> SendTally? {
        if let known = tallies[key] { return known }
        return try rows.tally(key)
    }

    package mutating func removeAll() {
        finished.removeAll(keepingCapacity: true)
        tallies.removeAll(keepingCapacity: true)
    }
}
