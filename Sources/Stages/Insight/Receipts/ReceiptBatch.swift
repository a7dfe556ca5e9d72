internal import Identifiers
package import Jobs

/// The rows about receipts as they are on disk.
package protocol StoredReceiptRows {
    associatedtype Failure: Error

    func finishedLines(of sheetPosition: JobPosition) throws(Failure) -> FinishedLines?
    func tally(for key: SendTally.Key) throws(Failure) -> SendTally?
    func period(in slot: SeriesSlot) throws(Failure) -> PeriodTally?
}

/// The rows that a batch of receipts changes. The first final receipt of each job counts once for its send. A
/// batch is written in one transaction with the offset of its topic, or not at all.
package struct ReceiptBatch {
    package private(set) var finishedLines: [JobPosition: FinishedLines] = [:]
    package private(set) var tallies: [SendTally.Key: SendTally] = [:]
    package private(set) var periods: [SeriesSlot: PeriodTally] = [:]

    package init() {}

    package var isEmpty: Bool { finishedLines.isEmpty && tallies.isEmpty && periods.isEmpty }

    /// Counts a receipt.
    ///
    /// - Parameter systems: The phones' systems in the order of the receipt's lines. Missing ones count as
    ///   unknown.
    package mutating func count<Rows: StoredReceiptRows>(
        _ receipt: Receipt, systems: [UInt8], storedIn rows: Rows
    ) throws(Rows.Failure) {
        // Intermediate outcomes are not counted.
        guard receipt.parts.contains(where: { $0.outcome.isFinal }) else { return }
        let key = SendTally.Key(app: receipt.app, send: receipt.send, environment: receipt.environment)
        var lines = try lines(of: receipt.position, storedIn: rows)
        var tally = try tally(for: key, storedIn: rows) ?? SendTally(receipt: receipt)
        let systemOfLine = Self.systemsByLine(systems, of: receipt)
        for part in receipt.parts where part.outcome.isFinal {
            var newSystems = SystemCounts()
            lines.insert(part.lines, at: receipt.writtenAt) { newSystems.add(1, on: systemOfLine[$0]) }
            let jobOutcome = SendTally.JobOutcome(
                outcome: part.outcome, reason: part.outcome == .accepted ? nil : part.reason)
            tally.countJobs(jobOutcome, systems: newSystems, at: receipt.writtenAt)
            try countPeriods(of: receipt, outcome: jobOutcome, jobs: newSystems.total, storedIn: rows)
        }
        finishedLines[receipt.position] = lines
        tallies[key] = tally
    }

    /// Counts jobs in the series of their app.
    private mutating func countPeriods<Rows: StoredReceiptRows>(
        of receipt: Receipt, outcome: SendTally.JobOutcome, jobs: Int, storedIn rows: Rows
    ) throws(Rows.Failure) {
        if jobs == 0 { return }
        for resolution in SeriesResolution.allCases {
            let slot = SeriesSlot(of: receipt.writtenAt, app: receipt.app, resolution: resolution)
            let beginning = resolution.beginning(of: receipt.writtenAt)
            var period = try period(in: slot, storedIn: rows) ?? PeriodTally(at: beginning)
            // A slot with a later period means that the receipt is older than the whole series. A slot with an earlier
            // period is used again, as in a ring buffer.
            if period.at > beginning { continue }
            if period.at < beginning { period = PeriodTally(at: beginning) }
            period.countJobs(outcome, jobs: jobs, after: receipt.writtenAt - receipt.acceptedAt)
            periods[slot] = period
        }
    }

    /// Returns the system of each line of the sheet. Lines that the receipt does not name are unreported.
    ///
    /// - Parameter systems: One system for each named line, in the order of the lines, independent of the
    ///   parts.
    private static func systemsByLine(_ systems: [UInt8], of receipt: Receipt) -> [UInt8] {
        let lastLine = receipt.parts.compactMap { $0.lines.ranges.last?.upperBound }.max()
        let lineCount = lastLine.map { $0 + 1 } ?? 0
        var systemOfLine = Array(repeating: OSVersion.unreportedMajor, count: lineCount)
        if systems.isEmpty { return systemOfLine }
        var isNamed = Array(repeating: false, count: lineCount)
        for part in receipt.parts { part.lines.forEachLine { isNamed[$0] = true } }
        var remainingSystems = systems[...]
        for line in systemOfLine.indices where isNamed[line] {
            guard let system = remainingSystems.popFirst() else { break }
            systemOfLine[line] = system
        }
        return systemOfLine
    }

    private func lines<Rows: StoredReceiptRows>(
        of sheetPosition: JobPosition, storedIn rows: Rows
    ) throws(Rows.Failure) -> FinishedLines {
        if let changed = finishedLines[sheetPosition] { return changed }
        return try rows.finishedLines(of: sheetPosition) ?? FinishedLines()
    }

    private func tally<Rows: StoredReceiptRows>(
        for key: SendTally.Key, storedIn rows: Rows
    ) throws(Rows.Failure) -> SendTally? {
        if let changed = tallies[key] { return changed }
        return try rows.tally(for: key)
    }

    private func period<Rows: StoredReceiptRows>(
        in slot: SeriesSlot, storedIn rows: Rows
    ) throws(Rows.Failure) -> PeriodTally? {
        if let changed = periods[slot] { return changed }
        return try rows.period(in: slot)
    }

    package mutating func removeAll() {
        finishedLines.removeAll(keepingCapacity: true)
        tallies.removeAll(keepingCapacity: true)
        periods.removeAll(keepingCapacity: true)
    }
}
