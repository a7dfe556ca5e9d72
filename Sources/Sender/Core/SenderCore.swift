package import Lifecycle
internal import LiveActivity

/// Decides what becomes of every job, from what it is told: sheets that were read, answers of APNs, records
/// that are stored, partitions that come and go, and what time it is. It does no I/O: what it wants done
/// stands in `orders` after each call.
///
/// A push leaves only with a permit; the permit comes back when the outcome is stored in `receipts`; the
/// offset is committed when all below it are stored. So whatever dies, nothing is lost, and at most as many
/// pushes are doubled as there are permits.
package struct SenderCore {
    package let limits: SenderLimits
    package var orders = SenderOrders()

    /// When the event in hand came.
    var moment = Moment(now: Instant(nanoseconds: 0), wall: 0)

    // MARK: Lanes

    var lanes: [Int32: Lane] = [:]
    /// Lanes that are another's, with pushes of ours still out.
    var orphans: [Lane] = []
    /// Pushes leave until then: so long the lanes are surely ours.
    var leaseUntil = Instant(nanoseconds: 0)
    /// When the partitions have to be given back.
    var releaseBy: Instant?
    var commitsAsked: [SenderOrders.Commit] = []
    var isLastCommitAsked = false
    /// Of what was asked for last. An answer to what was asked before it may come late: it is of an earlier assignment,
    /// or a last commit has overtaken it, and says nothing of these offsets.
    var commitNumber = 0
    /// A commit must show that the lanes are still ours, and when it is asked for next: one may fail.
    var mustConfirm = false
    var nextConfirm = Instant(nanoseconds: 0)
    var nextCommit = Instant(nanoseconds: 0)
    /// Sheets that were read and may not be begun, in all lanes: they wait for a commit.
    var sheetsAhead = 0
    /// What lanes may read has perhaps changed.
    var mustSteer = false
    /// The next time at which a tier is read again.
    var nextTier = Instant.distantFuture
    /// A lane waits for its earlier owner.
    var isSettling = false

    // MARK: Sheets in hand

    var slots: [Sheet?] = []
    var freeSlots: [Int] = []
    var handRoom: HandRoom
    /// A lane has opened whose topics' ends were reached before.
    var hasEndsSeen = false
    var sheetsOfGroup: [Fingerprint: GroupSheets] = [:]
    var waitingLines = DueHeap<AppFlow.Again>()

    // MARK: What is known

    var superseded: SupersededView
    /// `superseded` was read to its end: before that nothing leaves.
    var isInformed = false
    var newest = NewestVersions()
    /// What was refused as no token of the app's.
    var failed = Remembered<UInt64, Bool>(max: 200_000)
    let seed: UInt64

    // MARK: Pushes

    var apps: [AppFlow.Name: AppFlow] = [:]
    var rotation: [AppFlow] = []
    var turnOfApp = 0
    var permits: Permits
    /// What one push is under way about, and what waits for its end.
    var busy = SubjectTable()
    var parked: [UInt64: [AppFlow.Again]] = [:]
    /// Whether there may be sheets of several apps, or of several environments of one, read yet or not.
    package var isShared = true
    /// When it is looked again for apps that take the others' room.
    var nextRoom = Instant(nanoseconds: 0)

    // MARK: Records

    var unwritten: [Sheet] = []
    var unwrittenSince = Instant.distantFuture
    /// Decided as well, and records that failed: they hand jobs on, for which there is no lease now.
    var keptBack: [Sheet] = []
    var writesKeptBack: [UInt64] = []
    var writes: [UInt64: SenderWrite] = [:]
    var lastWrite: UInt64 = 0

    /// - Parameter seed: for names of 64 and 128 bits that nobody outside can make meet.
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
    /// Permits and intents that apps hold.
    package var countsOfApps: Int {
        apps.values.reduce(0) { $0 + abs($1.permits) + abs($1.intended) + abs($1.suspectsIntended) }
    }
    package var leasedUntil: Instant { leaseUntil }
    /// Milliseconds since 1970: the oldest send in hand, or that waits in a tier.
    package var oldestAcceptedAt: Int64? {
        let inHand = slots.lazy.compactMap { $0?.head.acceptedAt }.min()
        let inTiers = lanes.values.lazy.flatMap(\.tracks).compactMap { $0.next?.acceptedAt }.min()
        return [inHand, inTiers].compactMap { $0 }.min()
    }
    /// Tokens that failed the last time, of those that are remembered.
    package var suspectTokens: Int { failed.count }
    /// Why pushes do not flow, in words.
    package var obstacles: [String] {
        var list: [String] = []
        if !isInformed { list.append("superseded is being read") }
        let reading = lanes.values.filter { !$0.mayPush && !$0.isLeaving }.count
        if reading > 0 { list.append("receipts of \(reading) lanes are being read") }
        return list
    }

    // MARK: The clock

    /// Pushes may leave until then; a time that is past stops them.
    package mutating func leased(until: Instant) {
        leaseUntil = until
        // Whoever gives a lease knows that they are ours.
        if until.nanoseconds > 0 { mustConfirm = false }
    }

    /// Does what is due, sends what may be sent, writes and commits. After each event, or many of them.
    ///
    /// - Parameter way: how many pushes of a sheet's app can be taken now.
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

    /// When a turn is due though nothing has happened; nil when nothing waits for a time.
    ///
    /// Mutating only in name: a getter is called on a copy of the whole core, and costs as much as a small turn.
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

/// Whether pushes of an app can be taken.
package enum PushWay: Sendable, Hashable {
    case open(room: Int)
    /// The same, but the first connection is not open yet, and none has failed.
    case connecting(room: Int)
    /// The app has no key here, or is not in the catalogue: its jobs wait in a tier.
    case closed(reason: String)
    /// No request can be made of the sheet.
    case faulty(code: String)
}
