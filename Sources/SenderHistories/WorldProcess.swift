internal import APNs
internal import Lifecycle
internal import LiveActivity
internal import Sender

/// A process with a core: what a worker holds for it, and nothing that a SIGKILL would spare.
final class WorldProcess {
    /// One push in the client.
    struct Flight {
        let tag: UInt64
        let job: WorldJobName
        let attempt: Int
        let subject: String
        let leaveBy: Instant
        var fate: Fate
    }

    enum Fate: Equatable {
        /// It waits for a connection.
        case waiting
        /// It has left; so it will end, and so after its deadline.
        case sent(PushAnswer, late: PushAnswer?)
        /// It was told as unknown.
        case overdue(late: PushAnswer)
    }

    /// Offsets on their way to the group, and the answer on its way back.
    struct PendingCommit {
        let number: Int
        let offsets: [SenderOrders.Commit]
        let epoch: Int
        /// Asked for before a stop, so that the answer proves nothing about the time after it.
        var isBeforeStop = false
        var isDone: Bool?
    }

    let number: Int
    var core: SenderCore
    var flights: [Flight] = []
    /// The client's, where the world is joined.
    var pools: [WorldPoolName: WorldPool] = [:]
    /// Records that are on their way, in their order, and those that are there and not acknowledged.
    var queue: [(id: UInt64, write: SenderWrite)] = []
    var stored: [(id: UInt64, offset: Int64)] = []
    var reading = ReceiptsReading()
    var commits: [PendingCommit] = []
    /// The worker waits for the answer to this one.
    var lastCommit: PendingCommit?
    /// Grows whenever lanes come or go: the group takes nothing of an earlier assignment.
    var epoch = 0
    var hasReleased = false
    /// By the places' indices.
    var paused = Array(repeating: true, count: 8)
    var positions = Array(repeating: Int64(0), count: 8)
    var notesRead = 0
    var lanes: Set<Int32> = []
    /// What lies in a lane's `receipts` before it the process must know: it was there when the lane came, or when it
    /// was read last.
    var toldUntil: [Int32: Int64] = [:]
    var lastPoll: Instant
    /// A SIGSTOP, and since when.
    var stoppedAt: Instant?
    /// It does not know whether its lanes are still its own.
    var isSuspect = false
    /// The group took its lanes while it was stopped.
    var hasLost = false
    var isLeaving = false

    init(_ number: Int, _ limits: SenderLimits, seed: UInt64, at now: Instant) {
        self.number = number
        core = SenderCore(limits, seed: seed)
        lastPoll = now
    }

    var lease: Instant { isSuspect ? Instant(nanoseconds: 0) : lastPoll.advanced(byMilliseconds: 8_000) }
}

/// A job, wherever it has been.
struct WorldJobName: Hashable, CustomStringConvertible {
    let place: JobPlace
    let line: Int
    var description: String { "\(place.topic)/\(place.partition)/\(place.offset)#\(line)" }
}

/// What the world knows of a job that it made.
struct WorldJob {
    let head: SheetHead
    let subject: String
    let activity: String
    /// Pushes of it that APNs took, and the ends of pushes that told its process so little that it may push again.
    var processed = 0
    var doubts = 0
}
