internal import APNs
internal import Jobs
internal import Lifecycle
internal import Sender

/// A simulated sender process: a `DeliveryPlan`, and the state that the worker's loop holds beside it. A SIGKILL loses
/// all of it.
final class SimulatedProcess {
    /// A push that the client has accepted and not yet ended.
    struct PushInFlight {
        /// The number by which the plan knows the push.
        let tag: UInt64
        let job: SimulatedJobID
        /// The number of the job's attempt, from 1.
        let attempt: Int
        /// The activity or start token, as in `SimulatedJob`.
        let pushTarget: String
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
        var wasRequestedBeforeStop = false
        /// Whether the group accepted it. Nil until the group has decided.
        var isAccepted: Bool?
    }

    /// The process's part in a rebalance.
    enum LaneRelease {
        /// The group has not asked for the lanes.
        case notRequested
        /// The group has asked, and the process finishes its pushes.
        case requested
        /// The process has let the lanes go, and the group has not noticed it.
        case done
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
    /// The records that are stored and not acknowledged, with their offsets.
    var storedWrites: [(id: UInt64, offset: Int64?)] = []
    /// The requested commits, in order.
    var commits: [PendingCommit] = []
    /// The last commit before lanes are released. The worker waits for its result.
    var lastCommit: PendingCommit?

    // The consumer. Both lists have an element for each partition, by `SimulatedKafka.Partition.index`.
    /// Whether the plan has paused the partition.
    var isPaused = Array(repeating: true, count: SimulatedProcess.partitionCount)
    /// The next offset to read.
    var positions = Array(repeating: Int64(0), count: SimulatedProcess.partitionCount)
    /// The number of records of `superseded` that the process has read.
    var notesRead = 0
    var receiptReads = ReceiptReadPlan()
    /// The end of each lane's `receipts` when the lane was assigned, or when they were read last. The process must know
    /// the receipts below it.
    var mustKnowReceiptsBelow: [Int32: Int64] = [:]

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
    /// Whether the process cannot know that the lanes are still its own, because it was stopped for long. An
    /// assignment, a loss, or a commit that was requested and accepted after the stop ends the doubt.
    var doubtsItsLanes = false
    /// Whether the group took its lanes while it was stopped. A poll tells the process.
    var hasLostLanes = false
    var laneRelease = LaneRelease.notRequested

    init(number: Int, limits: SenderLimits, seed: UInt64, at now: Instant) {
        self.number = number
        plan = DeliveryPlan(limits, seed: seed, owner: UInt64(number))
        lastPoll = now
    }

    /// Whether its event loop runs.
    var isLoopRunning: Bool { stoppedAt == nil && stalledUntil == nil }

    /// The end of the lease. Until then no other process can own the lanes. In doubt it is in the past.
    var leaseEnd: Instant {
        doubtsItsLanes ? Instant(nanoseconds: 0) : lastPoll.advanced(byMilliseconds: Self.leaseMilliseconds)
    }
}
