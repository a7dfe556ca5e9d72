internal import Kafka
internal import Lifecycle
internal import SQLite
internal import Store

/// The lanes whose files are open in this process, for the threads that answer queries beside the loop.
final class OpenLanes: Sendable {
    private struct State {
        var lanes: [Int32: OpenLane] = [:]
        /// The damage that queries have found in these lanes, until the loop takes it.
        var damage: [Int32: LaneFileFailure] = [:]
    }

    private let state = TracedLock(State())
    /// Called on the loop's thread whenever the set of open lanes changes.
    private let changeHandler = TracedLock<(@Sendable () -> Void)?>(nil)

    /// The open lanes, sorted by number.
    var all: [OpenLane] { state.withLock { $0.lanes.values.sorted { $0.partition < $1.partition } } }

    func onChange(_ handler: @escaping @Sendable () -> Void) { changeHandler.withLock { $0 = handler } }

    func add(_ lane: OpenLane) {
        state.withLock { $0.lanes[lane.partition] = lane }
        changeHandler.withLock { $0 }?()
    }

    /// Removes a lane before its files are closed. A reader that uses them still finishes its page.
    func remove(partition: Int32) {
        state.withLock { state in
            state.lanes[partition] = nil
            state.damage[partition] = nil
        }
        changeHandler.withLock { $0 }?()
    }

    func update(partition: Int32, asOf: Int64) { state.withLock { $0.lanes[partition]?.asOf = asOf } }

    // MARK: Damage

    /// Notes the error of a query if it shows that a file of the lane is damaged. Only the loop can repair the lane.
    func reportDamage(_ error: any Error, of lane: OpenLane) {
        guard let topic = lane.topic(of: error) else { return }
        let failure = LaneFileFailure(error: error, of: topic)
        guard failure.damagedTopic != nil else { return }
        state.withLock { state in
            // The files of another opening may be new.
            guard state.lanes[lane.partition]?.openingID == lane.openingID else { return }
            state.damage[lane.partition] = failure
        }
    }

    /// Returns the damage that was noted since the last call, by lane.
    func takeDamage() -> [Int32: LaneFileFailure] {
        state.withLock { state in
            let damage = state.damage
            state.damage = [:]
            return damage
        }
    }
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

    /// Returns the topic whose file an error is about, or nil if it is about no file.
    fileprivate func topic(of error: any Error) -> InsightTopic? {
        switch error {
        case is SQLiteError: .events
        case let error as StoreError where error.isAbout(directory: receiptsEnvironment.path): .receipts
        case let error as StoreError:
            rowEnvironments.first { error.isAbout(directory: $0.value.path) }?.key
        default: nil
        }
    }
}
