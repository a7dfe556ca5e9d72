internal import Lifecycle
internal import Telemetry

/// The record of every request and its end: the newest entries in memory, all entries in an optional file,
/// and the totals. It is confined to the simulator's loop. Slow work runs at the end of a turn for all of its
/// entries, on the file's thread, or when a reader asks.
final class Journal: JournalSink, TurnHook {
    private let loop: EventLoop
    private let limits: JournalLimits
    // Exclusivity is unchecked. Each request accesses these on the loop, and no call made during an access
    // uses them again.
    @safe @exclusivity(unchecked) private(set) var ring: JournalRing
    @safe @exclusivity(unchecked) private var tally: JournalTally
    let file: JournalFile?
    let records: RequestRecords?
    @safe @exclusivity(unchecked) private var metrics: JournalMetrics
    /// Entries of this turn for the file.
    private var fresh: [JournalRing.Numbered] = []
    private var isTurnBegun = false

    init(
        on loop: EventLoop, limits: JournalLimits, file: JournalFile?, records: RequestRecords? = nil,
        metrics: Metrics
    ) {
        self.loop = loop
        self.limits = limits
        ring = JournalRing(entriesMax: limits.entriesMax, bytesMax: limits.bytesMax)
        tally = JournalTally(limits)
        self.file = file
        self.records = records
        self.metrics = JournalMetrics(metrics)
    }

    /// Clears the entries and the totals. Numbering and the file continue.
    func forget() {
        ring.forget()
        tally = JournalTally(limits)
    }

    var summary: JournalSummary { tally.summary }

    func answering(_ entry: inout JournalEntry) {
        entry.record = records?.append(RequestRecord(entry))
    }

    func ended(_ entry: consuming JournalEntry) {
        if let records { note(entry, in: records) }
        if !isTurnBegun {
            isTurnBegun = true
            loop.atEndOfTurn(self)
        }
        tally.add(entry)
        metrics.count(entry)
        guard file != nil else {
            _ = ring.append(entry)
            return
        }
        let number = ring.append(copy entry)
        fresh.append(JournalRing.Numbered(number: number, entry: entry))
    }

    private func note(_ entry: JournalEntry, in records: RequestRecords) {
        var record = RequestRecord()
        if let index = entry.record {
            record.take(entry)
            // The answer was recorded but never reached the client.
            if record.end == .answered { record.end = .lost }
            records.end(index, with: record)
        } else if case .answered = entry.end {
            // The limit on records was reached, so this request has none.
        } else {
            _ = records.append(RequestRecord(entry))
        }
    }

    func endOfTurn() {
        isTurnBegun = false
        metrics.tell(doubledPushes: tally.doubledPushes)
        guard let file else { return }
        file.append(fresh)
        fresh.removeAll(keepingCapacity: true)
    }
}
