internal import Lifecycle
internal import Telemetry

/// The record of every request and its end: the newest entries in memory, all entries in an optional file,
/// and the totals. It is confined to the simulator's loop. Slow work runs at the end of a turn for all of its
/// entries, on the file's thread, or when a reader asks.
final class Journal: JournalSink, IterationHook {
    private let loop: EventLoop
    private let limits: JournalLimits
    // Exclusivity is unchecked. Each request accesses these on the loop, and no call made during an access
    // uses them again.
    @safe @exclusivity(unchecked) private(set) var ring: JournalRing
    @safe @exclusivity(unchecked) private var totals: JournalTotals
    let file: JournalFile?
    let records: RequestRecordFile?
    @safe @exclusivity(unchecked) private var metrics: JournalMetrics
    /// Entries of this turn for the file.
    private var newEntries: [JournalRing.NumberedEntry] = []
    private var hasScheduledTurnEnd = false

    init(
        on loop: EventLoop, limits: JournalLimits, file: JournalFile?, records: RequestRecordFile? = nil,
        metrics: Metrics
    ) {
        self.loop = loop
        self.limits = limits
        ring = JournalRing(entriesMax: limits.entriesMax, bytesMax: limits.bytesMax)
        totals = JournalTotals(limits: limits)
        self.file = file
        self.records = records
        self.metrics = JournalMetrics(metrics: metrics)
    }

    /// Clears the entries and the totals. Numbering and the file continue.
    func reset() {
        ring.removeAll()
        totals = JournalTotals(limits: limits)
    }

    var summary: JournalSummary { totals.summary }

    func willAnswer(_ entry: inout JournalEntry) {
        entry.record = records?.append(RequestRecord(entry))
    }

    func didEnd(_ entry: consuming JournalEntry) {
        if let records { writeRecord(of: entry, in: records) }
        if !hasScheduledTurnEnd {
            hasScheduledTurnEnd = true
            loop.callAtEndOfIteration(self)
        }
        totals.add(entry)
        metrics.count(entry)
        guard file != nil else {
            _ = ring.append(entry)
            return
        }
        let number = ring.append(copy entry)
        newEntries.append(JournalRing.NumberedEntry(number: number, entry: entry))
    }

    private func writeRecord(of entry: JournalEntry, in records: RequestRecordFile) {
        var record = RequestRecord()
        if let index = entry.record {
            record.setOutcome(from: entry)
            // The answer was recorded but never reached the client.
            if record.outcome == .answered { record.outcome = .lost }
            records.writeOutcome(at: index, from: record)
        } else if case .answered = entry.outcome {
            // The limit on records was reached, so this request has none.
        } else {
            _ = records.append(RequestRecord(entry))
        }
    }

    func iterationWillEnd() {
        hasScheduledTurnEnd = false
        metrics.update(duplicatePushes: totals.duplicatePushes)
        guard let file else { return }
        file.append(newEntries)
        newEntries.removeAll(keepingCapacity: true)
    }
}
