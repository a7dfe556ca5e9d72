package import Catalog
package import CatalogRecords
internal import Kafka
internal import Lifecycle
internal import Registry
internal import Sends
internal import StageSupport

/// A request that was read and is not in a committed transaction yet.
struct UncommittedRequest {
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
    private(set) var uncommitted: ArraySlice<UncommittedRequest> = []
    private(set) var byteCount = 0
    /// The offset of the next new record. Lower offsets were read already.
    private(set) var nextOffset: Int64?
    /// The committed offset. Nil if the topic is read from its beginning.
    private(set) var committedOffset: Int64?

    /// Whether reading the topic is paused until some of its requests are done.
    var isPaused = false

    var isEmpty: Bool { uncommitted.isEmpty }
    var count: Int { uncommitted.count }

    mutating func resume(at committed: Int64?) {
        uncommitted = []
        byteCount = 0
        (self.committedOffset, nextOffset) = (committed, committed)
    }

    /// Notes that everything below the offset is committed. The caller makes sure that no request is waiting.
    mutating func markCommitted(below offset: Int64) {
        (committedOffset, nextOffset) = (offset, offset)
    }

    func isNew(offset: Int64) -> Bool { nextOffset.map { offset >= $0 } ?? true }

    mutating func append(_ request: UncommittedRequest) {
        uncommitted.append(request)
        byteCount += request.bytes
        nextOffset = request.offset + 1
    }

    /// Removes the first `count` requests, because they are committed.
    mutating func removeFirst(_ count: Int) {
        for request in uncommitted.prefix(count) {
            byteCount -= request.bytes
            committedOffset = request.offset + 1
        }
        uncommitted = uncommitted.dropFirst(count)
        // A slice keeps the storage of its removed elements.
        if uncommitted.isEmpty { uncommitted = [] }
    }
}

/// The progress of a lane's walk through the groups of its registry.
enum SubscriptionWalk {
    case at(Lane.GroupCursor)
    case done
}

/// One assigned lane.
final class AssignedLane: AssignedPartition {
    let partition: Int32
    var state = PartitionState.restoring
    var restoringSince: Instant
    /// Whether the rows of `starts` are read to their end.
    var hasReadScopes = false
    /// The requests that were read, by the index of the topic.
    private(set) var queues = ExpanderInputTopic.allCases.map { _ in RequestQueue() }
    /// The committed offset of the registry.
    var registryCommitted: Int64?
    /// The walk through the groups with members that the lane makes after each assignment. It subscribes to those
    /// without a row, for example after an upgrade.
    var subscriptionWalk = SubscriptionWalk.at(Lane.GroupCursor())
    /// The expander of the lane. It is made when the views are open.
    var worker: LaneWorker?

    init(partition: Int32, assignedAt now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "lane \(partition)" }

    subscript(topic: ExpanderInputTopic) -> RequestQueue {
        get { queues[topic.rawValue] }
        _modify { yield &queues[topic.rawValue] }
    }

    func nextOffset(in topic: Int) -> Int64? { queues[topic].nextOffset }
    func hasUncommittedRecords(in topic: Int) -> Bool { !queues[topic].isEmpty }
    func committedOffset(in topic: Int) -> Int64? { queues[topic].committedOffset }
    func markCommitted(below offset: Int64, in topic: Int) { queues[topic].markCommitted(below: offset) }
    func resume(at offset: Int64?, in topic: Int) { queues[topic].resume(at: offset) }

    /// Resets the lane before its views are read again.
    func resetForReading(registryCommitted offset: Int64?) {
        registryCommitted = offset
        hasReadScopes = false
        subscriptionWalk = .at(Lane.GroupCursor())
        worker = nil
        for topic in queues.indices { queues[topic].isPaused = false }
    }
}

/// The expander of a lane, with its rows of `starts`.
final class LaneWorker {
    let table: TransactionScopes
    var expander: Expander<TransactionScopes>

    init(registry: Lane, table: TransactionScopes, jobsPerSheet: Int) {
        self.table = table
        expander = Expander(
            lane: Int(table.lane), registry, table, catalog: CatalogSnapshot(), jobsPerSheet: jobsPerSheet)
    }

    /// Begins a transaction of the lane (`Expander.begin`).
    func begin(at now: Int64, atLatest latest: Int64, catalog: CatalogSnapshot) {
        table.removeChanges()
        expander.begin(at: now, atLatest: latest, catalog: catalog)
    }
}

extension CatalogSnapshot: ExpanderCatalog {
    package func app(_ id: String) -> App? { apps[id] }
    package func segment(_ name: String, of app: String) -> SegmentRule? {
        segment(named: name, of: app)?.rule
    }
}
