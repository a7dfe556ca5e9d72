package import LiveActivity

/// The rows as they are on disk.
package protocol ReceiptRows {
    associatedtype Failure: Error

    func finished(_ place: JobPlace) throws(Failure) -> FinishedLines?
    func tally(_ key: SendTally.Key) throws(Failure) -> SendTally?
}

/// What receipts make of the rows: each job's first last word is counted for its send, once. A batch is entered
/// whole, together with how far its topic was read, or not at all.
package struct ReceiptBatch {
    package private(set) var finished: [JobPlace: FinishedLines] = [:]
    package private(set) var tallies: [SendTally.Key: SendTally] = [:]

    package init() {}

    package var isEmpty: Bool { finished.isEmpty && tallies.isEmpty }

    package mutating func take<Rows: ReceiptRows>(
        _ receipt: Receipt, over rows: Rows
    ) throws(Rows.Failure) {
        // Marks on a job's way say nothing of how it ended.
        guard receipt.parts.contains(where: { $0.outcome.isFinal }) else { return }
        let key = SendTally.Key(app: receipt.app, send: receipt.send, environment: receipt.environment)
        var lines = try lines(of: receipt.place, over: rows)
        var tally = try tally(key, over: rows) ?? SendTally(receipt)
        for part in receipt.parts where part.outcome.isFinal {
            let fresh = lines.insert(part.lines, at: receipt.at)
            tally.count(
                SendTally.End(part.outcome, reason: part.outcome == .accepted ? nil : part.reason),
                times: fresh, at: receipt.at)
        }
        finished[receipt.place] = lines
        tallies[key] = tally
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
