internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import Stages

/// A request that was read and is not in a committed transaction yet.
struct WaitingRequest {
    /// Nil for what was no request, and went to the dead letters.
    let request: ExpansionRequest?
    let offset: Int64
    let bytes: Int
    /// Milliseconds since 1970 of its record.
    let stamp: Int64?
}

/// What was read of one topic of a lane.
struct RequestQueue {
    /// Read, and not committed, in the topic's order.
    private(set) var waiting: ArraySlice<WaitingRequest> = []
    private(set) var bytes = 0
    /// Where reading goes on; what comes again from below it was read already.
    private(set) var next: Int64?
    /// The newest offset that was committed. Nil: from the beginning.
    private(set) var committed: Int64?

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    mutating func begin(at committed: Int64?) {
        waiting = []
        bytes = 0
        (self.committed, next) = (committed, committed)
    }

    /// Notes that everything below the offset is committed, which no request that waits is.
    mutating func reached(_ offset: Int64) {
        (committed, next) = (offset, offset)
    }

    func isNew(_ offset: Int64) -> Bool { next.map { offset >= $0 } ?? true }

    mutating func append(_ request: WaitingRequest) {
        waiting.append(request)
        bytes += request.bytes
        next = request.offset + 1
    }

    /// The first so many are committed.
    mutating func removeFirst(_ count: Int) {
        for request in waiting.prefix(count) {
            bytes -= request.bytes
            committed = request.offset + 1
        }
        waiting = waiting.dropFirst(count)
        // A slice keeps what it has passed.
        if waiting.isEmpty { waiting = [] }
    }
}

/// What was read of a lane.
struct RequestQueues {
    private var urgent = RequestQueue()
    private var usual = RequestQueue()

    subscript(topic: ExpandedTopic) -> RequestQueue {
        get { topic == .urgent ? urgent : usual }
        _modify { if topic == .urgent { yield &urgent } else { yield &usual } }
    }

    var all: [RequestQueue] { [urgent, usual] }
    var isEmpty: Bool { urgent.isEmpty && usual.isEmpty }
}

/// One lane that is ours.
final class OwnedLane: OwnedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    /// The rows of `starts` are read to their end.
    var hasStarts = false
    var queues = RequestQueues()
    /// The registry's offset that is committed.
    var registryCommitted: Int64?
    /// Made when its views are open.
    var worker: LaneWorker?
    /// Reading the usual topic waits until some of what was read is done.
    var isPaused = false

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "lane \(partition)" }

    func next(in topic: Int) -> Int64? { queues[ExpandedTopic(index: topic)].next }
    func hasWaiting(in topic: Int) -> Bool { !queues[ExpandedTopic(index: topic)].isEmpty }
    func committed(in topic: Int) -> Int64? { queues[ExpandedTopic(index: topic)].committed }
    func reached(_ offset: Int64, in topic: Int) { queues[ExpandedTopic(index: topic)].reached(offset) }
    func begin(at offset: Int64?, in topic: Int) { queues[ExpandedTopic(index: topic)].begin(at: offset) }

    /// No process has committed anything of it before.
    var isNew: Bool { registryCommitted == nil && queues.all.allSatisfy { $0.committed == nil } }

    /// Its views begin anew.
    func beginViews(registryCommitted offset: Int64?) {
        registryCommitted = offset
        hasStarts = false
        worker = nil
        isPaused = false
    }
}

/// The expander of a lane, with its rows of `starts`.
final class LaneWorker {
    let table: StartsTable
    var expander: Expander<StartsTable>

    init(_ registry: Lane, _ table: StartsTable, isNew: Bool, jobsPerSheet: Int) {
        self.table = table
        expander = Expander(
            lane: Int(table.lane), registry, table, catalog: NoCatalog(), isNew: isNew,
            jobsPerSheet: jobsPerSheet)
    }
}

/// Before the first transaction.
private struct NoCatalog: ExpanderCatalog {
    func app(_ id: String) -> App? { nil }
    func segment(_ name: String, of app: String) -> SegmentRule? { nil }
}
