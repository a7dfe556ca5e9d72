internal import Identifiers
package import Jobs

/// The rows as they are on disk.
package protocol StoredReceiptRows {
    associatedtype Failure: Error

    func finishedLines(of place: JobPosition) throws(Failure) -> FinishedLines?
    func tally(for key: SendTally.Key) throws(Failure) -> SendTally?
}

/// The row changes of a batch of receipts. The first final receipt of each job counts once for its send. A
/// batch is written in one transaction with the offset of its topic, or not at all.
package struct ReceiptBatch {
    package private(set) var finished: [JobPosition: FinishedLines] = [:]
    package private(set) var tallies: [SendTally.Key: SendTally] = [:]

    package init() {}

    package var isEmpty: Bool { finished.isEmpty && tallies.isEmpty }

    /// Counts a receipt.
    ///
    /// - Parameter systems: The phones' systems in the order of the receipt's lines. Missing ones count as
    ///   unknown.
    package mutating func count<Rows: StoredReceiptRows>(
        _ receipt: Receipt, systems: [UInt8], storedIn rows: Rows
    ) throws(Rows.Failure) {
        // Intermediate marks of a job do not contain its outcome.
        guard receipt.parts.contains(where: { $0.outcome.isFinal }) else { return }
        let key = SendTally.Key(app: receipt.app, send: receipt.send, environment: receipt.environment)
        var lines = try lines(of: receipt.position, storedIn: rows)
        var tally = try tally(for: key, storedIn: rows) ?? SendTally(receipt: receipt)
        let systemOfLine = Self.systemsByLine(systems, of: receipt)
        for part in receipt.parts where part.outcome.isFinal {
            var fresh = SystemCounts()
            lines.insert(part.lines, at: receipt.writtenAt) { fresh.add(1, on: systemOfLine[$0]) }
            tally.count(
                SendTally.JobOutcome(
                    outcome: part.outcome, reason: part.outcome == .accepted ? nil : part.reason),
                systems: fresh, at: receipt.writtenAt)
        }
        finished[receipt.position] = lines
        tallies[key] = tally
    }

    /// Returns the systems by the line number of a job in its sheet. The header has this order, independent
    /// of the parts.
    private static func systemsByLine(_ systems: [UInt8], of receipt: Receipt) -> [UInt8] {
        let count = receipt.parts.reduce(0) { max($0, ($1.lines.ranges.last?.upperBound ?? -1) + 1) }
        var found = Array(repeating: OSVersion.unreportedMajor, count: count)
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

    private func lines<Rows: StoredReceiptRows>(
        of place: JobPosition, storedIn rows: Rows
    ) throws(Rows.Failure) -> FinishedLines {
        if let known = finished[place] { return known }
        return try rows.finishedLines(of: place) ?? FinishedLines()
    }

    private func tally<Rows: StoredReceiptRows>(
        for key: SendTally.Key, storedIn rows: Rows
    ) throws(Rows.Failure) -> SendTally? {
        if let known = tallies[key] { return known }
        return try rows.tally(for: key)
    }

    package mutating func removeAll() {
        finished.removeAll(keepingCapacity: true)
        tallies.removeAll(keepingCapacity: true)
    }
}
