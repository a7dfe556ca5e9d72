internal import Lifecycle
internal import LiveActivity

/// The actions that a plan asks for. The loop carries them out after each event, in any order, except that
/// writes keep their order.
package struct DeliveryActions {
    package struct Push {
        package let sheet: Sheet
        package let line: Int
        package let isSuspect: Bool

        package var tag: UInt64 { sheet.tag(of: line) }
    }

    package struct ReceiptRead: Sendable, Hashable {
        package let lane: Int32
        package let from: Int64
    }

    package struct PartitionPause: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
    }

    /// The continuation of a partition.
    package struct PartitionResume: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        /// The offset to read from; nil to continue where it was paused.
        package let from: Int64?
    }

    package struct OffsetCommit: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        package let offset: Int64
        package let metadata: CommitMetadata
    }

    /// A token that is dead according to APNs.
    package struct DeadToken {
        package let sheet: Sheet
        package let line: Int
        package let reason: String
        package let invalidatedAt: Int64?
    }

    /// An event for the log or a metric.
    package enum Event: Sendable, Hashable {
        case breakerOpened(AppEnvironment, reason: String)
        case breakerClosed(AppEnvironment)
        case settling(lane: Int32, milliseconds: Int)
        case opened(lane: Int32)
        case drainedLate(lane: Int32)
    }

    package var pushes: [Push] = []
    /// Tags of pushes that should be withdrawn if they have not left.
    package var withdrawals: [UInt64] = []
    package var writes: [(id: UInt64, write: RecordToWrite)] = []
    package var deadTokens: [DeadToken] = []
    /// Reads of a lane's `receipts`, from an offset to the current end.
    package var reads: [ReceiptRead] = []
    package var pauses: [PartitionPause] = []
    package var resumes: [PartitionResume] = []
    /// Offsets to commit together. The plan waits for the answer before it commits more, except for the
    /// last commit.
    package var commits: [OffsetCommit] = []
    /// Number that the answer to these commits carries.
    package var commitNumber = 0
    /// Whether these commits are the last. The partitions go back after them.
    package var isLastCommit = false
    /// Whether all lanes were let go, so that the group may take them.
    package var isReleased = false
    package var events: [Event] = []

    package init() {}

    package mutating func removeAll() {
        pushes.removeAll(keepingCapacity: true)
        withdrawals.removeAll(keepingCapacity: true)
        writes.removeAll(keepingCapacity: true)
        deadTokens.removeAll(keepingCapacity: true)
        reads.removeAll(keepingCapacity: true)
        pauses.removeAll(keepingCapacity: true)
        resumes.removeAll(keepingCapacity: true)
        commits.removeAll(keepingCapacity: true)
        isLastCommit = false
        isReleased = false
        events.removeAll(keepingCapacity: true)
    }
}
