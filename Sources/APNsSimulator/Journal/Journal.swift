internal import Lifecycle
internal import Telemetry

/// Keeps every request and what became of it: the newest entries in memory, all of them in a file where
/// one is named, and what they add up to. Confined to the simulator's loop; whatever is slow is done at
/// the end of a turn for all of its entries together, or by the file's thread.
final class Journal: JournalSink, TurnHook {
    private let loop: EventLoop
    private(set) var ring: JournalRing
    private var tally: JournalTally
    let file: JournalFile?
    private let metrics: JournalMetrics
    private var fresh: [JournalRing.Numbered] = []

    init(on loop: EventLoop, limits: JournalLimits, file: JournalFile?, metrics: Metrics) {
        self.loop = loop
        ring = JournalRing(entriesMax: limits.entriesMax, bytesMax: limits.bytesMax)
        tally = JournalTally(limits)
        self.file = file
        self.metrics = JournalMetrics(metrics)
    }

    var summary: JournalSummary { tally.summary }

    func ended(_ entry: JournalEntry) {
        if fresh.isEmpty { loop.atEndOfTurn(self) }
        tally.add(entry)
        fresh.append(ring.append(entry))
    }

    func endOfTurn() {
        metrics.count(fresh, summary)
        file?.append(fresh)
        fresh.removeAll(keepingCapacity: true)
    }
}
