internal import Kafka
internal import Lifecycle
internal import Store

/// The lanes whose files are open in this process, for the thread that answers queries beside the loop.
final class OpenLanes: Sendable {
    private let lanes = TracedLock<[Int32: OpenLane]>([:])
    /// Called on the loop's thread whenever the set of open lanes changes.
    private let changeHandler = TracedLock<(@Sendable () -> Void)?>(nil)

    /// The open lanes, sorted by number.
    var all: [OpenLane] { lanes.withLock { $0.values.sorted { $0.partition < $1.partition } } }

    func onChange(_ handler: @escaping @Sendable () -> Void) { changeHandler.withLock { $0 = handler } }

    func add(_ lane: OpenLane) {
        lanes.withLock { $0[lane.partition] = lane }
        changeHandler.withLock { $0 }?()
    }

    /// Removes a lane before its files are closed. A reader that uses them still finishes its page.
    func remove(partition: Int32) {
        lanes.withLock { _ = $0.removeValue(forKey: partition) }
        changeHandler.withLock { $0 }?()
    }

    func update(partition: Int32, asOf: Int64) { lanes.withLock { $0[partition]?.asOf = asOf } }
}

/// The files of an open lane, readable by other threads.
struct OpenLane: Sendable {
    let partition: Int32
    let receiptsEnvironment: LMDBEnvironment
    /// The lane's partition of `receipts`.
    let receiptsPartition: TopicPartition
    /// The path of the SQLite file. Each thread opens it separately.
    let eventsPath: String
    /// The files of rows by topic.
    let rowEnvironments: [InsightTopic: LMDBEnvironment]
    /// The number of this opening. A reader that was opened under another number is stale.
    let openingID: UInt64
    /// The time up to which the files are complete, in milliseconds since 1970.
    var asOf: Int64 = 0

    init(files: LaneFiles) {
        partition = files.partition
        receiptsEnvironment = files.receiptFile.environment
        receiptsPartition = files.receiptFile.position.partition
        eventsPath = files.eventFile.path
        var rows: [InsightTopic: LMDBEnvironment] = [:]
        for topic in InsightTopic.allCases {
            if let file = files.files[topic.rawValue] as? RowFile { rows[topic] = file.environment }
        }
        self.rowEnvironments = rows
        openingID = UInt64(Instant.now().nanoseconds)
    }
}
