internal import Lifecycle
internal import LiveActivity

/// The start of an assigned lane.
package struct LaneStart: Sendable, Hashable {
    package struct Track: Sendable, Hashable {
        /// The group's committed offset, or the partition's beginning if the group has no offset.
        package var base: Int64
        package var note: CommitNote?

        package init(base: Int64, note: CommitNote?) {
            self.base = base
            self.note = note
        }
    }

    package var lane: Int32
    /// One track per topic, in the order of `JobTopic`.
    package var tracks: [Track]

    package init(lane: Int32, tracks: [Track]) {
        precondition(tracks.count == JobTopic.allCases.count, "a lane is a partition of each topic")
        self.lane = lane
        self.tracks = tracks
    }
}

/// One lane in hand: a partition of each jobs topic, and of `receipts`.
final class Lane {
    enum Phase: Sendable, Hashable {
        /// The lane was lost and came back while pushes of the earlier assignment are still in flight.
        case awaitingOrphan
        /// `receipts` are being read.
        case reading
        /// An earlier owner may still have pushes in flight. Its sheets wait, and later sheets flow.
        case settling(until: Instant)
        /// The receipts that were written during the settling are being read.
        case rereading
        case open
        /// The lane is being given up in order. Pushes in flight finish.
        case releasing
        /// The lane belongs to another process. Pushes in flight finish, and their receipts are written.
        case orphaned
    }

    /// A partition of one topic.
    struct Track {
        var tracker: OffsetTracker
        /// The group's committed offset, as far as this process knows.
        var committed: Int64
        /// Sheets below this offset may be begun, because a successor will check them.
        var grantedBelow: Int64
        /// An earlier owner may have begun sheets below this offset.
        let touchedBelow: Int64
        /// The earlier owner's commit note, if it left one.
        let note: CommitNote?
        /// Receipts of an earlier owner for its unfinished sheets lie at or above this offset.
        var receiptsFrom: Int64
        /// All sheets below this offset were read, and no sheet of an earlier owner lies at or above it. It is
        /// nil until the topic's end was reached.
        var caughtUpAt: Int64?
        /// Our own sheets in this topic lie at or above this offset, and all sheets of earlier owners below. It is
        /// nil until one of ours is stored. It is needed because the end of a tier may never be reached: its last
        /// sheets are not due.
        var ownFrom: Int64?
        /// Number of sheets that we wrote to it and whose offsets are unknown.
        var unplaced = 0
        /// The end that was reached last while records of an earlier owner may still come.
        var endSeen: Int64?
        /// Sheets that we wrote to it and that may be stored twice.
        var twins = TwinHolds()
        /// Offset of `receipts` in the committed note. A successor reads from there.
        var notedFrom: Int64
        /// Sheets that were read and are not granted yet.
        var ahead = Queue<Sheet>()
        var isPaused = true
        /// The choice of sheets to take from a tier; nil if the topic is not a tier.
        private(set) var reading: TierReading?

        init(_ start: LaneStart.Track, of topic: JobTopic, window: Int64) {
            reading = topic.tier.map { TierReading($0) }
            tracker = OffsetTracker(from: start.base)
            committed = start.base
            note = start.note
            let touched = start.note?.window ?? window
            touchedBelow = start.base + touched
            // Until our own note is committed, a successor uses the earlier owner's note. If that note is
            // missing, or says that nothing is in flight, the successor would not wait for our pushes.
            grantedBelow = start.base + (Self.saysThatSomethingIsOut(start.note) ? min(touched, window) : 0)
            receiptsFrom = start.note?.receiptsFrom ?? 0
            notedFrom = receiptsFrom
        }

        private static func saysThatSomethingIsOut(_ note: CommitNote?) -> Bool {
            guard let note else { return false }
            return note.endedAt == nil
        }

        /// Whether nothing may be begun before our own note is committed.
        var needsOwnNote: Bool { grantedBelow == committed && !Self.saysThatSomethingIsOut(note) }

        /// Whether sheets that an earlier owner began or wrote to a tier may be unfinished. This includes
        /// sheets that are unread or held back.
        func owesToEarlierOwner(_ topic: JobTopic) -> Bool {
            if let ownFrom, tracker.base >= ownFrom { return false }
            if let caughtUpAt, tracker.unfinished == 0 || tracker.base >= caughtUpAt { return false }
            return topic.tier != nil || tracker.base < touchedBelow
        }

        /// Notes a sheet that we wrote to it after all sheets of earlier owners.
        mutating func wrote(at offset: Int64, unplacedBefore: Int) {
            if unplacedBefore == unplaced { ownFrom = ownFrom ?? offset }
        }

        /// Returns whether a sheet is taken. After a sheet that is not taken, the partition waits.
        mutating func takes(_ record: SheetRecord, at moment: Moment) -> Bool {
            reading?.takes(record, at: moment) ?? true
        }

        /// The first sheet that is not due. The partition continues when it is due.
        var next: TierReading.Next? { reading?.next }
        var isWaiting: Bool { next != nil }

        mutating func goOn() { reading?.goOn() }
    }

    let number: Int32
    var phase = Phase.reading
    var tracks: [Track]
    var ledger: Ledger
    /// Our own records in `receipts` lie at or above this offset.
    var receiptsEnd: Int64 = 0
    /// End of the receipts that were read. An earlier owner may have written records behind it at the same
    /// time as we did.
    var readUntil: Int64 = 0
    /// Sheets that wait until an earlier owner has settled.
    var held: [Sheet] = []
    /// Whether its receipts were read, so that its notes are our own; and whether all pushes of earlier
    /// owners have ended.
    var hasBegun = false
    var isSettled = false
    /// For an orphan: until then its next owner still reads the records that hand jobs on.
    var handsOnUntil = Instant(nanoseconds: 0)
    /// Whether `receipts` had records at or after the offset in the earlier owner's note.
    var hasFoundReceipts = false
    var sheets = 0
    /// Pushes in flight, and records without acknowledgement.
    @safe @exclusivity(unchecked) var inFlight = 0
    var writing = 0

    init(_ start: LaneStart, window: Int64, ledgerSheetsMax: Int) {
        number = start.lane
        tracks = zip(start.tracks, JobTopic.allCases).map { Track($0, of: $1, window: window) }
        ledger = Ledger(sheetsMax: ledgerSheetsMax)
    }

    /// Whether everything of the lane is stored.
    var isDrained: Bool { sheets == 0 && writing == 0 }

    /// The offset from which the earlier owners' receipts are read.
    var receiptsFrom: Int64 { tracks.map(\.receiptsFrom).min() ?? 0 }

    /// Returns whether an earlier owner may still have pushes of the topic in flight, given the end of
    /// `receipts`.
    func isUnsettled(_ topic: JobTopic, endingAt end: Int64) -> Bool {
        guard let note = tracks[topic.rawValue].note else { return hasFoundReceipts }
        return note.endedAt != end
    }

    /// Returns whether a sheet has to wait for the earlier owner.
    func isHeld(_ sheet: Sheet) -> Bool {
        isWaitingForEarlierOwner && sheet.offset < tracks[sheet.topic.rawValue].touchedBelow
    }

    private var isWaitingForEarlierOwner: Bool {
        switch phase {
        case .settling, .rereading: true
        case .awaitingOrphan, .reading, .open, .releasing, .orphaned: false
        }
    }

    /// Returns whether sheets wait for our own note. While an earlier owner settles, sheets above its window
    /// wait for it. All sheets wait for it if the earlier owner's note does not say that pushes are in
    /// flight.
    func wantsWindow(_ topic: JobTopic, _ window: Int64) -> Bool {
        let track = tracks[topic.rawValue]
        if track.ahead.isEmpty { return false }
        if track.needsOwnNote { return true }
        return isWaitingForEarlierOwner && track.grantedBelow < track.touchedBelow + window
    }

    /// Whether a topic needs our own note at once. The notes of the other topics are committed with it, so
    /// that no topic waits for its own note later.
    var leavesWord: Bool { tracks.contains { !$0.ahead.isEmpty && $0.needsOwnNote } }

    var mayPush: Bool {
        switch phase {
        case .settling, .rereading, .open: true
        case .awaitingOrphan, .reading, .releasing, .orphaned: false
        }
    }

    /// Whether the lane belongs to another process, or soon will. Nothing new is begun, and the next owner
    /// takes over failed pushes.
    var isLeaving: Bool { phase == .releasing || phase == .orphaned }

    /// Returns the note for a successor.
    ///
    /// - Parameter isEnding: whether nothing is in flight any more.
    func note(of topic: JobTopic, window: Int64, isEnding: Bool) -> CommitNote {
        let base = tracks[topic.rawValue].tracker.base
        let heldFrom = tracks[topic.rawValue].twins.receiptsFrom(above: base)
        let track = tracks[topic.rawValue]
        var from = track.tracker.receiptsFrom(otherwise: receiptsEnd)
        if track.owesToEarlierOwner(topic) { from = min(from, track.receiptsFrom) }
        if let heldFrom { from = min(from, heldFrom) }
        // While sheets of an earlier owner wait, a note that covers both windows lets the sheets above them
        // begin.
        var below = max(track.grantedBelow, track.touchedBelow)
        if isWaitingForEarlierOwner { below = max(below, track.touchedBelow + window) }
        return CommitNote(
            receiptsFrom: from, window: max(window, below - base),
            endedAt: isEnding && isSettled ? receiptsEnd : nil)
    }
}
