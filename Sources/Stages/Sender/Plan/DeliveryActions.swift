package import APNs
internal import Lifecycle

/// The actions that a plan asks for. The loop carries them out after each call of the plan. Their order does not
/// matter, except that writes keep their order.
package struct DeliveryActions {
    /// A push to APNs.
    package struct Push {
        package let sheet: Sheet
        package let line: Int
        package let connections: PushConnections

        /// The tag by which the loop reports the end of the push.
        package var tag: UInt64 { sheet.tag(of: line) }
    }

    /// A read of a lane's `receipts`, from an offset to a marker that the loop writes for it.
    package struct ReceiptRead: Sendable, Hashable {
        package let lane: Int32
        package let from: Int64
    }

    /// A pause of reading a partition.
    package struct PartitionPause: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
    }

    /// The end of a pause.
    package struct PartitionResume: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        /// The offset to read from; nil to continue where it was paused.
        package let from: Int64?
    }

    /// An offset to commit for the group, with its metadata.
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
        /// Milliseconds since 1970, if APNs gives a time.
        package let invalidatedAt: Int64?
    }

    /// A token that APNs has accepted for the first time, as far as this process knows.
    package struct ProvenToken {
        package let sheet: Sheet
        package let line: Int
    }

    /// An event for the log or a metric.
    package enum Event: Sendable, Hashable {
        case breakerOpened(AppEnvironment, reason: String)
        case breakerClosed(AppEnvironment)
        /// APNs refuses most tokens that it has never accepted.
        case unprovenTokensRefused(AppEnvironment, reason: String)
        /// The lane waits until the pushes of an earlier owner have ended.
        case settling(lane: Int32, milliseconds: Int)
        /// No earlier owner of the lane can have pushes in flight any more.
        case opened(lane: Int32)
        /// The lane is given back although pushes or records are not finished.
        case drainedLate(lane: Int32)
    }

    package var pushes: [Push] = []
    /// Whether all pushes that have not left are withdrawn, because the lanes are given up.
    package var mustWithdrawPushes = false
    /// Records to store. The loop reports by id which are stored, and which failed.
    package var writes: [(id: UInt64, write: RecordToWrite)] = []
    package var deadTokens: [DeadToken] = []
    package var provenTokens: [ProvenToken] = []
    package var receiptReads: [ReceiptRead] = []
    package var pauses: [PartitionPause] = []
    package var resumes: [PartitionResume] = []
    /// Offsets to commit together. The plan waits for the answer before it commits more, except for the
    /// last commit.
    package var commits: [OffsetCommit] = []
    /// The number by which the loop reports the answer to these commits.
    package var commitNumber = 0
    /// Whether these commits are the last before the partitions are given back.
    package var isLastCommit = false
    /// Whether the plan has given up all lanes, so that the group may assign them to other processes.
    package var isReleased = false
    package var events: [Event] = []

    package init() {}

    /// Whether the plan asks for any action.
    package var hasAny: Bool {
        !pushes.isEmpty || mustWithdrawPushes || !writes.isEmpty
            || !deadTokens.isEmpty || !provenTokens.isEmpty
            || !receiptReads.isEmpty || !pauses.isEmpty || !resumes.isEmpty
            || !commits.isEmpty || isLastCommit || isReleased || !events.isEmpty
    }

    /// Removes all actions, and keeps their memory. `commitNumber` counts only together with commits.
    package mutating func removeAll() {
        pushes.removeAll(keepingCapacity: true)
        mustWithdrawPushes = false
        writes.removeAll(keepingCapacity: true)
        deadTokens.removeAll(keepingCapacity: true)
        provenTokens.removeAll(keepingCapacity: true)
        receiptReads.removeAll(keepingCapacity: true)
        pauses.removeAll(keepingCapacity: true)
        resumes.removeAll(keepingCapacity: true)
        commits.removeAll(keepingCapacity: true)
        isLastCommit = false
        isReleased = false
        events.removeAll(keepingCapacity: true)
    }
}
