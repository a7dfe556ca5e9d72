internal import Kafka
internal import Lifecycle
internal import Store

/// The lanes whose files are open in this process, for whoever answers questions beside the loop.
final class OpenLanes: Sendable {
    private let lanes = TracedLock<[Int32: OpenLane]>([:])
    /// Told whenever other lanes are open, on the loop's thread.
    private let changed = TracedLock<(@Sendable () -> Void)?>(nil)

    /// In their order.
    var all: [OpenLane] { lanes.withLock { $0.values.sorted { $0.partition < $1.partition } } }

    func whenChanged(_ then: @escaping @Sendable () -> Void) { changed.withLock { $0 = then } }

    func put(_ lane: OpenLane) {
        lanes.withLock { $0[lane.partition] = lane }
        changed.withLock { $0 }?()
    }

    /// Before its files are closed; whoever reads from them meanwhile reads to the end of a page.
    func remove(_ partition: Int32) {
        lanes.withLock { _ = $0.removeValue(forKey: partition) }
        changed.withLock { $0 }?()
    }

    func update(_ partition: Int32, asOf: Int64) { lanes.withLock { $0[partition]?.asOf = asOf } }
}

/// The files of an open lane as other threads may read them.
struct OpenLane: Sendable {
    let partition: Int32
    let receipts: Environment
    let receiptsPlace: Store.TopicPartition
    /// Of the SQLite file, which each thread opens for itself.
    let eventsPath: String
    /// By topic.
    let rows: [InsightTopic: Environment]
    /// Another opening of the same lane is another number: what was opened beside the one before is stale.
    let opening: UInt64
    /// Milliseconds since 1970 up to which everything is in the files.
    var asOf: Int64 = 0

    init(_ files: LaneFiles) {
        partition = files.partition
        receipts = files.receipts.environment
        let place = files.receipts.mark.place
        receiptsPlace = Store.TopicPartition(place.topic, place.partition)
        eventsPath = files.events.path
        var rows: [InsightTopic: Environment] = [:]
        for topic in InsightTopic.allCases {
            if let file = files.files[topic.rawValue] as? RowFile { rows[topic] = file.environment }
        }
        self.rows = rows
        opening = UInt64(Instant.now().nanoseconds)
    }
}
