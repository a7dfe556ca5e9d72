internal import Lifecycle

/// The phase of an assigned lane, from the takeover to the return. `LaneOwnership` has a table of the phases.
enum LanePhase: Sendable, Hashable {
    /// The lane was given up and came back while pushes of the earlier assignment are still in flight: its orphan.
    case awaitingOrphan
    /// The receipts of earlier owners are being read.
    case readingReceipts
    /// An earlier owner may still have pushes in flight. Sheets that it may have begun wait, and later sheets begin.
    case settling(until: Instant)
    /// The receipts that an earlier owner wrote in the phase `settling` are being read.
    case rereadingReceipts
    /// All receipts of earlier owners are read, and they have no pushes in flight.
    case open
    /// The lane is being given up in order. Pushes in flight finish.
    case releasing(TakeoverProgress)
    /// The lane belongs to another process. Pushes in flight finish, and their receipts are written. Until
    /// `leaseUntil` records that need a lease are written too, because the next owner reads them.
    case orphaned(TakeoverProgress, leaseUntil: Instant)

    /// The progress of the takeover. A lane that is being given up keeps the progress that it had.
    var progress: TakeoverProgress {
        switch self {
        case .awaitingOrphan, .readingReceipts: .receiptsUnread
        case .settling, .rereadingReceipts: .receiptsRead
        case .open: .earlierPushesEnded
        case .releasing(let progress), .orphaned(let progress, _): progress
        }
    }

    /// Whether new pushes may be begun.
    var mayPush: Bool {
        switch self {
        case .settling, .rereadingReceipts, .open: true
        case .awaitingOrphan, .readingReceipts, .releasing, .orphaned: false
        }
    }

    /// Whether sheets of the earlier owner have to wait, because its pushes may be in flight.
    var waitsForEarlierOwner: Bool {
        switch self {
        case .settling, .rereadingReceipts: true
        case .awaitingOrphan, .readingReceipts, .open, .releasing, .orphaned: false
        }
    }

    /// Whether the lane belongs to another process, or soon will. No more sheets are begun, and the next owner
    /// takes over failed pushes.
    var isLeaving: Bool {
        switch self {
        case .releasing, .orphaned: true
        case .awaitingOrphan, .readingReceipts, .settling, .rereadingReceipts, .open: false
        }
    }

    /// Returns the phase after receipts were read; nil if the lane did not wait for that.
    ///
    /// - Parameter mayEarlierOwnerPush: whether an earlier owner may still have pushes in flight.
    func afterReceipts(mayEarlierOwnerPush: Bool, settlesAt: Instant) -> LanePhase? {
        switch self {
        case .readingReceipts: mayEarlierOwnerPush ? .settling(until: settlesAt) : .open
        case .rereadingReceipts: .open
        case .releasing(.receiptsUnread): .releasing(.receiptsRead)
        case .orphaned(.receiptsUnread, let until): .orphaned(.receiptsRead, leaseUntil: until)
        case .awaitingOrphan, .settling, .open, .releasing, .orphaned: nil
        }
    }
}

/// The progress of a takeover.
enum TakeoverProgress: Sendable, Hashable {
    case receiptsUnread
    /// The receipts were read once, so that we can make metadata for the next owner.
    case receiptsRead
    /// All pushes of earlier owners have ended, and all their receipts were read.
    case earlierPushesEnded
}
