internal import Lifecycle
internal import Telemetry

/// Keeps every request and what became of it: the newest entries in memory, all of them in a file where
/// one is named, and what they add up to. Confined to the simulator's loop; whatever is slow is done at
/// the end of a turn for all of its entries together, by the file's thread, or when a reader asks.
final class Journal: JournalSink, TurnHook {
    private let loop: EventLoop
    private let limits: JournalLimits
    // Unchecked: each request touches them, on the loop, and none of them calls back.
    @safe @exclusivity(unchecked) private(set) var ring: JournalRing
    @safe @exclusivity(unchecked) private var tally: JournalTally
    let file: JournalFile?
    let records: RequestRecords?
    @safe @exclusivity(unchecked) private var metrics: JournalMetrics
    /// Of this turn, for the file.
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

    /// What was is no longer held nor counted; numbers go on, and so does the file.
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
            // Whoever was to hear of it will not.
            if record.end == .answered { record.end = .lost }
            records.end(index, with: record)
        } else if case .answered = entry.end {
            // There was no room for its record.
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
