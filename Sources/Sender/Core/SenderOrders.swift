internal import Lifecycle
internal import LiveActivity

/// What the core wants done. The worker takes it after each event, and does it in any order but the
/// writes', which keep theirs.
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

    /// A partition is read on.
    package struct Resume: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        /// The offset to read from; nil: from where it was paused.
        package let from: Int64?
    }

    package struct Commit: Sendable, Hashable {
        package let lane: Int32
        package let topic: JobTopic
        package let offset: Int64
        package let note: CommitNote
    }

    /// A token that is dead by what APNs said.
    package struct DeadToken {
        package let sheet: Sheet
        package let line: Int
        package let reason: String
        package let invalidatedAt: Int64?
    }

    /// What a person or a metric hears of.
    package enum Note: Sendable, Hashable {
        case breakerOpened(AppFlow.Name, reason: String)
        case breakerClosed(AppFlow.Name)
        case settling(lane: Int32, milliseconds: Int)
        case opened(lane: Int32)
        case drainedLate(lane: Int32)
    }

    package var pushes: [Push] = []
    /// Tags of pushes that should not leave any more, if they have not.
    package var withdrawals: [UInt64] = []
    package var writes: [(id: UInt64, write: SenderWrite)] = []
    package var deadTokens: [DeadToken] = []
    /// `receipts` of a lane, from an offset to the end as it is now.
    package var reads: [Read] = []
    package var pauses: [Flow] = []
    package var resumes: [Resume] = []
    /// Offsets to commit together; the answer is awaited before others come, but for the last.
    package var commits: [Commit] = []
    /// The answer to these commits names it.
    package var commitNumber = 0
    /// These commits are the last: then the partitions go back.
    package var isLastCommit = false
    /// All lanes were let go of: the group may have them.
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
