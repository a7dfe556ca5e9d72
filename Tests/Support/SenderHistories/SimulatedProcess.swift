internal import APNs
internal import Jobs
internal import Lifecycle
internal import Sender

/// A simulated sender process: a `DeliveryPlan`, and the state that the worker's loop holds beside it. A SIGKILL loses
/// all of it.
final class SimulatedProcess {
    /// A push that the client has accepted and not yet ended.
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
        /// The push has left. It ends with the first answer, and a late answer may follow.
        case sent(PushAnswer, late: PushAnswer?)
        /// The push was reported with an unknown outcome. The late answer follows.
        case overdue(late: PushAnswer)
    }

    /// A commit on its way to the group, or its result on the way back.
    struct PendingCommit {
        let number: Int
        let offsets: [DeliveryActions.OffsetCommit]
        let epoch: Int
        /// Whether it was requested before a stop, so that its result proves nothing about the time after the stop.
        var isBeforeStop = false
        /// Whether the group accepted it. Nil until the group has decided.
        var isDone: Bool?
    }

    private static let partitionCount = SenderSimulation.lanes.count * SimulatedKafka.Partition.topicCount
    /// After a poll of the group, no other process gets the lanes for at least this time.
    private static let leaseMilliseconds = 8_000

    let number: Int
    var plan: DeliveryPlan

    // Pushes.
    var pushesInFlight: [PushInFlight] = []
    /// The client's pools, in histories with the production's pools.
    var pools: [SimulatedPoolKey: SimulatedPool] = [:]

    // Records and offsets.
    /// The records on their way to the cluster, in order.
    var pendingWrites: [(id: UInt64, write: RecordToWrite)] = []
    /// The records that are stored and not acknowledged.
    var storedWrites: [(id: UInt64, offset: Int64)] = []
    /// The requested commits, in order.
    var commits: [PendingCommit] = []
    /// The last commit before lanes are released. The worker waits for its result.
    var lastCommit: PendingCommit?

    // The consumer. Both lists have an element for each partition, by `SimulatedKafka.Partition.index`.
    /// Whether the plan has paused the partition.
    var paused = Array(repeating: true, count: SimulatedProcess.partitionCount)
    /// The next offset to read.
    var positions = Array(repeating: Int64(0), count: SimulatedProcess.partitionCount)
    /// The number of notes that the process has read.
    var notesRead = 0
    var receiptReads = ReceiptReadPlan()
    /// The process must know each lane's `receipts` below this offset. They existed when the lane was
    /// assigned or when they were read last.
    var receiptsReadTo: [Int32: Int64] = [:]

    // The membership of the group.
    /// The lanes that the group has assigned to the process.
    var lanes: Set<Int32> = []
    /// The number of assignments and losses. The group accepts nothing of an earlier assignment.
    var epoch = 0
    var lastPoll: Instant
    /// The time of a SIGSTOP, or nil while the process runs.
    var stoppedAt: Instant?
    /// The end of a stall of the event loop, or nil while it runs. The library's threads go on, so the group keeps the
    /// process.
    var stalledUntil: Instant?
    /// Whether the process cannot know that the lanes are still its own, because it was stopped for long.
    var isSuspect = false
    /// Whether the group took its lanes while it was stopped.
    var hasLostLanes = false
    var isReleasingLanes = false
    var hasReleasedLanes = false

    init(number: Int, limits: SenderLimits, seed: UInt64, at now: Instant) {
        self.number = number
        plan = DeliveryPlan(limits, seed: seed, owner: UInt64(number))
        lastPoll = now
    }

    /// Whether its event loop runs.
    var isLoopRunning: Bool { stoppedAt == nil && stalledUntil == nil }

    /// The end of the lease. Until then no other process can own the lanes.
    var leaseEnd: Instant {
        isSuspect ? Instant(nanoseconds: 0) : lastPoll.advanced(byMilliseconds: Self.leaseMilliseconds)
    }
}

/// The id of a job: the position and the line where it was first stored. It stays the same in the tiers.
struct SimulatedJobID: Hashable, CustomStringConvertible {
    let position: JobPosition
    let line: Int
    var description: String { "\(position.topic)/\(position.partition)/\(position.offset)#\(line)" }
}

/// The simulation's knowledge of a job.
struct SimulatedJob {
    let head: SheetHead
    /// The activity or start token that the job pushes to. It gets one push at a time.
    let subject: String
    /// The subject within its scope and group. A newer update for the same one replaces this job.
    let activity: String
    /// The number of pushes that APNs processed.
    var processedCount = 0
    /// The number of pushes whose outcome stayed unknown to the process, so that it may push again.
    var unknownOutcomes = 0
}
