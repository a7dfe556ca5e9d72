internal import Lifecycle
internal import Telemetry

/// The record of every request and its outcome: the newest entries in memory (`ring`), all entries in two
/// optional files, and the totals. It is confined to the simulator's loop. Slow work is done once for all
/// requests of the loop's iteration, on the file's thread, or when a reader asks.
final class Journal: JournalSink, IterationHook {
    private let loop: EventLoop
    private let limits: JournalLimits
    // Exclusivity is unchecked. Each request accesses these on the loop, and no call made during an access
    // uses them again.
    @safe @exclusivity(unchecked) private(set) var ring: JournalRing
    @safe @exclusivity(unchecked) private var totals: JournalTotals
    /// The file of JSON lines.
    let file: JournalFile?
    /// The file of fixed-size records.
    let recordFile: RequestRecordFile?
    @safe @exclusivity(unchecked) private var metrics: JournalMetrics
    /// Entries of this iteration for the file.
    private var newEntries: [JournalRing.NumberedEntry] = []
    /// Whether the loop will call `iterationWillEnd` after this iteration.
    private var hasScheduledIterationEnd = false

    init(
        on loop: EventLoop, limits: JournalLimits, file: JournalFile?, recordFile: RequestRecordFile? = nil,
        metrics: Metrics
    ) {
        self.loop = loop
        self.limits = limits
        ring = JournalRing(entriesMax: limits.entriesMax, bytesMax: limits.memoryBytesMax)
        totals = JournalTotals(limits: limits)
        self.file = file
        self.recordFile = recordFile
        self.metrics = JournalMetrics(metrics: metrics)
    }

    /// Clears the entries and the totals. The numbering and the files continue.
    func reset() {
        ring.removeAll()
        totals = JournalTotals(limits: limits)
    }

    var summary: JournalSummary { totals.summary }

    // MARK: Calls from connections

    func willAnswer(_ entry: inout JournalEntry) {
        entry.recordIndex = recordFile?.append(RequestRecord(entry))
    }

    func didEnd(_ entry: consuming JournalEntry) {
        if let recordFile { writeOutcome(of: entry, in: recordFile) }
        if !hasScheduledIterationEnd {
            hasScheduledIterationEnd = true
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

    /// Writes the outcome into the record that `willAnswer` appended, or appends the record of an unanswered
    /// request.
    private func writeOutcome(of entry: JournalEntry, in recordFile: RequestRecordFile) {
        guard let index = entry.recordIndex else {
            // An answer has no record only if the file could not grow when `willAnswer` appended it.
            if case .answered = entry.outcome { return }
            _ = recordFile.append(RequestRecord(entry))
            return
        }
        var record = RequestRecord()
        record.setOutcome(from: entry)
        // The answer was recorded, but its stream ended before it was sent.
        if record.outcome == .answered { record.outcome = .lost }
        recordFile.writeOutcome(at: index, from: record)
    }

    // MARK: Calls from the loop

    /// Passes on all requests of the loop's iteration at once.
    func iterationWillEnd() {
        hasScheduledIterationEnd = false
        metrics.update(duplicatePushes: totals.duplicatePushes)
        guard let file else { return }
        file.append(newEntries)
        newEntries.removeAll(keepingCapacity: true)
    }
}
