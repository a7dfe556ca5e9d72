import JSON
import Lifecycle
import Telemetry

@testable import APNsSimulator

/// The journal, with a count of its entries. Each eighth entry is also written as JSON, which must never trap.
final class FuzzJournal: JournalSink {
    private let journal: Journal
    private(set) var endedCount = 0
    private var endedRequests: Set<Int> = []
    private var json = JSONWriter(capacity: 4_096)

    init(on loop: EventLoop) {
        var limits = JournalLimits()
        limits.entriesMax = 50
        limits.trackedIDsMax = 100
        limits.trackedTargetsMax = 20
        journal = Journal(on: loop, limits: limits, file: nil, metrics: Metrics())
    }

    var distinctEndedCount: Int { endedRequests.count }
    var summaryCount: Int { journal.summary.requests }

    func didEnd(_ entry: JournalEntry) {
        endedCount += 1
        endedRequests.insert(entry.facts.request)
        journal.didEnd(entry)
        guard endedCount.isMultiple(of: 8) else { return }
        json.removeAll()
        JournalRing.NumberedEntry(number: endedCount, entry: entry).write(to: &json, showsPayload: true)
    }
}
