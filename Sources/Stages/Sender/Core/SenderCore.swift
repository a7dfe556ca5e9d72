package import Lifecycle
internal import LiveActivity

/// The decisions about every job, as a value without I/O. Its inputs are sheets that were read, answers of
/// APNs, acknowledged records, assigned and revoked partitions, and the time. After each call, `orders` holds
/// the actions for the worker.
///
/// A push leaves only with a permit. The permit returns when the outcome is stored in `receipts`. The offset
/// is committed when all outcomes below it are stored. So a crash at any point loses nothing, and it
/// duplicates at most as many pushes as there are permits.
package struct SenderCore {
    package let limits: SenderLimits
    package var orders = SenderOrders()

    /// Time of the current event.
    var moment = Moment(now: Instant(nanoseconds: 0), wall: 0)

    // MARK: Lanes

    var lanes: [Int32: Lane] = [:]
    /// Lanes that belong to another process, with pushes of ours still in flight.
    var orphans: [Lane] = []
    /// End of the lease. Until then the lanes are surely ours, and pushes may leave.
    var leaseUntil = Instant(nanoseconds: 0)
    /// Deadline for giving the partitions back.
    var releaseBy: Instant?
    var commitsAsked: [SenderOrders.Commit] = []
    var isLastCommitAsked = false
    /// Number of the newest commit request. The answer to an earlier request may come late. That request
    /// belongs to an earlier assignment, or a last commit has overtaken it, so its answer says nothing about
    /// the offsets in `commitsAsked`.
    var commitNumber = 0
    /// Whether a commit must show that the lanes are still ours, and the time of the next attempt: a commit
    /// may fail.
    var mustConfirm = false
    var nextConfirm = Instant(nanoseconds: 0)
    var nextCommit = Instant(nanoseconds: 0)
    /// Number of sheets in all lanes that were read and wait for a commit before they may be begun.
    var sheetsAhead = 0
    /// Whether the set of partitions to read may have changed.
    var mustSteer = false
    /// The next time at which a tier is read again.
    var nextTier = Instant.distantFuture
    /// Whether a lane waits for its earlier owner.
    var isSettling = false

    // MARK: Sheets in hand

    var slots: [Sheet?] = []
    var freeSlots: [Int] = []
    var handRoom: HandRoom
    /// Whether a lane has opened, so that an end of a topic that it reached before may count now.
    var hasEndsSeen = false
    var sheetsOfGroup: [Fingerprint: GroupSheets] = [:]
    var waitingLines = DueHeap<AppFlow.Again>()

    // MARK: Known versions and tokens

    var superseded: SupersededView
    /// Whether `superseded` was read to its end. Before that no push leaves.
    var isInformed = false
    var newest = NewestVersions()
    /// Subjects whose token APNs refused as not belonging to the app.
    var failed = Remembered<UInt64, Bool>(max: 200_000)
    let seed: UInt64

    // MARK: Pushes

    var apps: [AppFlow.Name: AppFlow] = [:]
    var rotation: [AppFlow] = []
    var turnOfApp = 0
    var permits: Permits
    /// Subjects with a push under way, and the lines that wait for its end.
    var busy = SubjectTable()
    var parked: [UInt64: [AppFlow.Again]] = [:]
    /// Whether there may be sheets of several apps, or of several environments of one app, read or unread.
    package var isShared = true
    /// The next time at which `makeRoom` looks for apps that block others.
    var nextRoom = Instant(nanoseconds: 0)

    // MARK: Records

    var unwritten: [Sheet] = []
    var unwrittenSince = Instant.distantFuture
    /// Sheets and failed records that hand jobs on and wait for a lease.
    var keptBack: [Sheet] = []
    var writesKeptBack: [UInt64] = []
    var writes: [UInt64: SenderWrite] = [:]
    var lastWrite: UInt64 = 0

    /// - Parameter seed: makes fingerprints unpredictable, so that no caller can choose two names that
    ///   collide.
    package init(_ limits: SenderLimits, seed: UInt64) {
        self.limits = limits
        self.seed = seed
        permits = Permits(limit: limits.permitsMax)
        handRoom = HandRoom(bytesMax: limits.handBytesMax)
        superseded = SupersededView(seed: seed)
    }

    // MARK: For metrics

    package var permitsTaken: Int { permits.taken }
    package var bytesInHand: Int { handRoom.bytes }
    package var sheetsInHand: Int { slots.count - freeSlots.count }
    package var lanesInHand: Int { lanes.count }
    package var subjectsInHand: Int { busy.count }
    /// Permits and intents that the apps hold.
    package var countsOfApps: Int {
        apps.values.reduce(0) { $0 + abs($1.permits) + abs($1.intended) + abs($1.suspectsIntended) }
    }
    package var leasedUntil: Instant { leaseUntil }
    /// Acceptance time of the oldest send that is in hand or waits in a tier, in milliseconds since 1970.
    package var oldestAcceptedAt: Int64? {
        let inHand = slots.lazy.compactMap { $0?.head.acceptedAt }.min()
        let inTiers = lanes.values.lazy.flatMap(\.tracks).compactMap { $0.next?.acceptedAt }.min()
        return [inHand, inTiers].compactMap { $0 }.min()
    }
    /// Number of remembered tokens that APNs refused the last time.
    package var suspectTokens: Int { failed.count }
    /// Reasons why pushes do not flow, as text.
    package var obstacles: [String] {
        var list: [String] = []
        if !isInformed { list.append("superseded is being read") }
        let reading = lanes.values.filter { !$0.mayPush && !$0.isLeaving }.count
        if reading > 0 { list.append("receipts of \(reading) lanes are being read") }
        return list
    }

    // MARK: The clock

    /// Sets the end of the lease. A time in the past stops pushes.
    package mutating func leased(until: Instant) {
        leaseUntil = until
        // A caller that gives a lease knows that the lanes are ours.
        if until.nanoseconds > 0 { mustConfirm = false }
    }

    /// Handles due timers, sends permitted pushes, writes and commits. The worker calls it after each event
    /// or after many of them.
    ///
    /// - Parameter way: returns how many pushes of a sheet's app the connections take now.
    package mutating func turn(_ moment: Moment, _ way: (Sheet, _ isSuspect: Bool) -> PushWay) {
        self.moment = moment
        settleLanes()
        wake()
        handOn()
        dispatch(way)
        makeRoom(by: way)
        write()
        commit()
        steer()
        release()
    }

    /// Returns the time of the next turn if no event comes before, or nil if no timer runs.
    ///
    /// It is mutating although it changes nothing. A getter works on a copy of the whole core and costs as
    /// much as a small turn.
    package mutating func nextTurn() -> Instant? {
        var next = Instant.distantFuture
        if let due = waitingLines.earliest { next = min(next, due) }
        if !unwritten.isEmpty {
            next = min(next, unwrittenSince.advanced(byMilliseconds: limits.receiptMilliseconds))
        }
        if isSettling {
            for lane in lanes.values {
                if case .settling(let until) = lane.phase { next = min(next, until) }
            }
        }
        if !lanes.isEmpty { next = min(next, nextCommit, nextTier) }
        if let releaseBy { next = min(next, releaseBy) }
        return next == .distantFuture ? nil : next
    }
}

/// Whether the connections take pushes of an app.
package enum PushWay: Sendable, Hashable {
    case open(room: Int)
    /// Like `open`, but the first connection is not open yet, and no attempt has failed.
    case connecting(room: Int)
    /// The app has no key here or is not in the catalog. Its jobs wait in a tier.
    case closed(reason: String)
    /// The sheet cannot be turned into a request.
    case faulty(code: String)
}
