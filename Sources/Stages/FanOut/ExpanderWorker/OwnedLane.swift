internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import StageSupport

/// A request that was read and is not in a committed transaction yet.
struct WaitingRequest {
    /// The request. Nil for a record that went to the dead letters.
    let request: ExpansionRequest?
    let offset: Int64
    let bytes: Int
    /// The timestamp of the record, in milliseconds since 1970.
    let stamp: Int64?
}

/// The requests that were read from one topic of a lane.
struct RequestQueue {
    /// The uncommitted requests, in the topic's order.
    private(set) var waiting: ArraySlice<WaitingRequest> = []
    private(set) var bytes = 0
    /// The offset of the next new record. Lower offsets were read already.
    private(set) var next: Int64?
    /// The committed offset. Nil if the topic is read from its beginning.
    private(set) var committed: Int64?

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    mutating func begin(at committed: Int64?) {
        waiting = []
        bytes = 0
        (self.committed, next) = (committed, committed)
    }

    /// Notes that everything below the offset is committed. The caller makes sure that no request is waiting.
    mutating func reached(_ offset: Int64) {
        (committed, next) = (offset, offset)
    }

    func isNew(_ offset: Int64) -> Bool { next.map { offset >= $0 } ?? true }

    mutating func append(_ request: WaitingRequest) {
        waiting.append(request)
        bytes += request.bytes
        next = request.offset + 1
    }

    /// Removes the first `count` requests, because they are committed.
    mutating func removeFirst(_ count: Int) {
        for request in waiting.prefix(count) {
            bytes -= request.bytes
            committed = request.offset + 1
        }
        waiting = waiting.dropFirst(count)
        // A slice keeps the storage of its removed elements.
        if waiting.isEmpty { waiting = [] }
    }
}

/// The requests that were read for a lane.
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

/// One assigned lane.
final class OwnedLane: OwnedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    /// Whether the rows of `starts` are read to their end.
    var hasStarts = false
    var queues = RequestQueues()
    /// The committed offset of the registry.
    var registryCommitted: Int64?
    /// The expander of the lane. It is made when the views are open.
    var worker: LaneWorker?
    /// Whether the normal topic is paused until some of its requests are done.
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

    /// Whether no process has ever committed an offset of the lane.
    var isNew: Bool { registryCommitted == nil && queues.all.allSatisfy { $0.committed == nil } }

    /// Resets the lane before its views are read again.
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

/// An empty catalog, for the time before the first transaction.
private struct NoCatalog: ExpanderCatalog {
    func app(_ id: String) -> App? { nil }
    func segment(_ name: String, of app: String) -> SegmentRule? { nil }
}
