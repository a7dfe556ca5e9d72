internal import Lifecycle
internal import Telemetry

/// Keeps every request and what became of it: the newest entries in memory, all of them in a file where
/// one is named, and what they add up to. Confined to the simulator's loop; whatever is slow is done at
/// the end of a turn for all of its entries together, by the file's thread, or when a reader asks.
final class Journal: JournalSink, TurnHook {
    private let loop: EventLoop
    private(set) var ring: JournalRing
    private var tally: JournalTally
    let file: JournalFile?
    private var metrics: JournalMetrics
    /// Of this turn, for the file.
    private var fresh: [JournalRing.Numbered] = []
    private var isTurnBegun = false

    init(on loop: EventLoop, limits: JournalLimits, file: JournalFile?, metrics: Metrics) {
        self.loop = loop
        ring = JournalRing(entriesMax: limits.entriesMax, bytesMax: limits.bytesMax)
        tally = JournalTally(limits)
        self.file = file
        self.metrics = JournalMetrics(metrics)
    }

    var summary: JournalSummary { tally.summary }

    func ended(_ entry: JournalEntry) {
        if !isTurnBegun {
            isTurnBegun = true
            loop.atEndOfTurn(self)
        }
        tally.add(entry)
        metrics.count(entry)
        let number = ring.append(entry)
        if file != nil { fresh.append(JournalRing.Numbered(number: number, entry: entry)) }
    }

    func endOfTurn() {
        isTurnBegun = false
        metrics.tell(tally.summary)
        guard let file else { return }
        file.append(fresh)
        fresh.removeAll(keepingCapacity: true)
    }
}
