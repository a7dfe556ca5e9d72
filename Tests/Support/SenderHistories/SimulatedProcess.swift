internal import APNs
internal import Jobs
internal import Lifecycle
internal import Sender

/// A process with a plan and the state that its worker holds. A SIGKILL loses all of it.
final class SimulatedProcess {
    /// One push in the client.
    struct PushInFlight {
        let tag: UInt64
        let job: SimulatedJobID
        let attempt: Int
        let subject: String
        let sendBy: Instant
        var state: PushState
    }

    enum PushState: Equatable {
        /// The push waits for a connection.
        case waiting
        /// The push has left. It ends with the first answer, and after its deadline with the second.
        case sent(PushAnswer, late: PushAnswer?)
        /// The push was reported as unknown.
        case overdue(late: PushAnswer)
    }

    /// Offsets on their way to the group, and the answer on its way back.
    struct PendingCommit {
        let number: Int
        let offsets: [DeliveryActions.OffsetCommit]
        let epoch: Int
        /// Whether it was requested before a stop, so that its answer proves nothing about the time after it.
        var isBeforeStop = false
        var isDone: Bool?
    }

    let number: Int
    var plan: DeliveryPlan
    var pushesInFlight: [PushInFlight] = []
    /// The client's pools, if the world is joined.
    var pools: [SimulatedPoolKey: SimulatedPool] = [:]
    /// Records on their way, in order, and records that are stored and not acknowledged.
    var pendingWrites: [(id: UInt64, write: RecordToWrite)] = []
    var storedWrites: [(id: UInt64, offset: Int64)] = []
    var receiptReads = ReceiptReadPlan()
    var commits: [PendingCommit] = []
    /// The last commit. The worker waits for its answer.
    var lastCommit: PendingCommit?
    /// Number of assignments and losses. The group accepts nothing of an earlier assignment.
    var epoch = 0
    var hasReleasedLanes = false
    /// State by the indices of places.
    var paused = Array(repeating: true, count: 8)
    var positions = Array(repeating: Int64(0), count: 8)
    var notesRead = 0
    var lanes: Set<Int32> = []
    /// The process must know each lane's `receipts` below this offset. They existed when the lane was
    /// assigned or when they were read last.
    var receiptsReadTo: [Int32: Int64] = [:]
    var lastPoll: Instant
    /// Time of a SIGSTOP; nil while it runs.
    var stoppedAt: Instant?
    /// Whether it does not know that the lanes are still its own.
    var isSuspect = false
    /// Whether the group took its lanes while it was stopped.
    var hasLostLanes = false
    var isReleasingLanes = false

    init(number: Int, limits: SenderLimits, seed: UInt64, at now: Instant) {
        self.number = number
        plan = DeliveryPlan(limits, seed: seed)
        lastPoll = now
    }

    var leaseEnd: Instant { isSuspect ? Instant(nanoseconds: 0) : lastPoll.advanced(byMilliseconds: 8_000) }
}

/// The name of a job in all its places.
struct SimulatedJobID: Hashable, CustomStringConvertible {
    let position: JobPosition
    let line: Int
    var description: String { "\(position.topic)/\(position.partition)/\(position.offset)#\(line)" }
}

/// The world's knowledge of a job.
struct SimulatedJob {
    let head: SheetHead
    let subject: String
    let activity: String
    /// Pushes of it that APNs processed, and pushes whose end left the outcome open, so that the process may
    /// push again.
    var processedCount = 0
    var unknownOutcomes = 0
}
