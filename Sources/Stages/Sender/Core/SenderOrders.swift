internal import Lifecycle
internal import LiveActivity

/// Actions that the core orders. The worker carries them out after each event, in any order, except that
/// writes keep their order.
package struct SenderOrders {
    package struct Push {
        package let sheet: Sheet
        package let line: Int
        package let isSuspect: Bool

        package var tag: UInt64 { Self.tag(of: sheet, line) }

        package static func tag(of sheet: Sheet, _ line: Int) -> UInt64 {
            UInt64(sheet.slot) << 16 | UInt64(line)
        }
    }

    package struct Read: Sendable, Hashable {
        package let lane: Int32
        package let from: Int64
    }

    package struct Flow: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
    }

    /// The continuation of a partition.
    package struct Resume: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        /// The offset to read from; nil to continue where it was paused.
        package let from: Int64?
    }

    package struct Commit: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        package let offset: Int64
        package let note: CommitNote
    }

    /// A token that is dead according to APNs.
    package struct DeadToken {
        package let sheet: Sheet
        package let line: Int
        package let reason: String
        package let invalidatedAt: Int64?
    }

    /// An event for the log or a metric.
    package enum Note: Sendable, Hashable {
        case breakerOpened(AppFlow.Name, reason: String)
        case breakerClosed(AppFlow.Name)
        case settling(lane: Int32, milliseconds: Int)
        case opened(lane: Int32)
        case drainedLate(lane: Int32)
    }

    package var pushes: [Push] = []
    /// Tags of pushes that should be withdrawn if they have not left.
    package var withdrawals: [UInt64] = []
    package var writes: [(id: UInt64, write: SenderWrite)] = []
    package var deadTokens: [DeadToken] = []
    /// Reads of a lane's `receipts`, from an offset to the current end.
    package var reads: [Read] = []
    package var pauses: [Flow] = []
    package var resumes: [Resume] = []
    /// Offsets to commit together. The core waits for the answer before it orders more, except for the last
    /// commit.
    package var commits: [Commit] = []
    /// Number that the answer to these commits carries.
    package var commitNumber = 0
    /// Whether these commits are the last. The partitions go back after them.
    package var isLastCommit = false
    /// Whether all lanes were let go, so that the group may take them.
    package var isReleased = false
    package var notes: [Note] = []

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
        notes.removeAll(keepingCapacity: true)
    }
}
