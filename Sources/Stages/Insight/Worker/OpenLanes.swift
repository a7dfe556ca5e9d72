internal import Kafka
internal import Lifecycle
internal import Store

/// The lanes whose files are open in this process, for threads that answer questions beside the loop.
final class OpenLanes: Sendable {
    private let lanes = TracedLock<[Int32: OpenLane]>([:])
    /// Called on the loop's thread whenever the set of open lanes changes.
    private let changed = TracedLock<(@Sendable () -> Void)?>(nil)

    /// The open lanes, sorted by number.
    var all: [OpenLane] { lanes.withLock { $0.values.sorted { $0.partition < $1.partition } } }

    func whenChanged(_ then: @escaping @Sendable () -> Void) { changed.withLock { $0 = then } }

    func put(_ lane: OpenLane) {
        lanes.withLock { $0[lane.partition] = lane }
        changed.withLock { $0 }?()
    }

    /// Removes a lane before its files are closed. A concurrent reader still finishes its page.
    func remove(_ partition: Int32) {
        lanes.withLock { _ = $0.removeValue(forKey: partition) }
        changed.withLock { $0 }?()
    }

    func update(_ partition: Int32, asOf: Int64) { lanes.withLock { $0[partition]?.asOf = asOf } }
}

/// The files of an open lane, readable by other threads.
struct OpenLane: Sendable {
    let partition: Int32
    let receipts: Environment
    let receiptsPlace: TopicPartition
    /// The path of the SQLite file. Each thread opens it separately.
    let eventsPath: String
    /// The files of rows by topic.
    let rows: [InsightTopic: Environment]
    /// The number of this opening. A reader that was opened under another number is stale.
    let opening: UInt64
    /// The time up to which the files are complete, in milliseconds since 1970.
    var asOf: Int64 = 0

    init(_ files: LaneFiles) {
        partition = files.partition
        receipts = files.receipts.environment
        receiptsPlace = files.receipts.mark.place
        eventsPath = files.events.path
        var rows: [InsightTopic: Environment] = [:]
        for topic in InsightTopic.allCases {
            if let file = files.files[topic.rawValue] as? RowFile { rows[topic] = file.environment }
        }
        self.rows = rows
        opening = UInt64(Instant.now().nanoseconds)
    }
}
