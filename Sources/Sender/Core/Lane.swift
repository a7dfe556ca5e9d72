internal import Lifecycle
internal import LiveActivity

/// Where a lane that was assigned begins.
package struct LaneStart: Sendable, Hashable {
    package struct Track: Sendable, Hashable {
        /// What the group has committed; where it has nothing, the partition's beginning.
        package var base: Int64
        package var note: CommitNote?

        package init(base: Int64, note: CommitNote?) {
            self.base = base
            self.note = note
        }
    }

    package var lane: Int32
    /// In the order of `JobTopic`.
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
        /// It was lost and came back while pushes of the last time are still out.
        case awaitingOrphan
        /// `receipts` are being read.
        case reading
        /// An earlier owner may still have pushes out: its sheets wait, what is above flows.
        case settling(until: Instant)
        /// What was written meanwhile is being read.
        case rereading
        case open
        /// Given up in order: what is out comes home.
        case releasing
        /// It is another's already; what is out comes home, and its receipts are written.
        case orphaned
    }

    /// A partition of one topic.
    struct Track {
        var tracker: OffsetTracker
        /// What the group has, as far as we know.
        var committed: Int64
        /// Sheets below may be begun: our successor will look at them.
        var grantedBelow: Int64
        /// Sheets below were perhaps begun by an earlier owner.
        let touchedBelow: Int64
        /// His word on `receipts`; nil where nobody said anything.
        let note: CommitNote?
        /// What an earlier owner said of its sheets lies at or above it.
        var receiptsFrom: Int64
        /// All sheets below were read, and none of an earlier owner's lies at or above it; nil until the topic's end
        /// was reached.
        var caughtUpAt: Int64?
        /// The first sheet that we wrote to it lies at or above it, and all sheets of earlier owners lie below; nil until
        /// one is stored. The end of a tier may never be reached, as its last sheets are not due.
        var ownFrom: Int64?
        /// Number of sheets that we wrote to it and whose offsets are unknown.
        var unplaced = 0
        /// The end that was reached last, while an earlier owner's records may still come.
        var endSeen: Int64?
        /// What we wrote to it that may stand there twice.
        var twins = TwinHolds()
        /// What the committed note says; a successor reads from there.
        var notedFrom: Int64
        /// Read, and not granted yet.
        var ahead = Queue<Sheet>()
        var isPaused = true
        /// Decides which sheets of a tier are taken; nil for a topic that is no tier.
        private(set) var reading: TierReading?

        init(_ start: LaneStart.Track, of topic: JobTopic, window: Int64) {
            reading = topic.tier.map { TierReading($0) }
            tracker = OffsetTracker(from: start.base)
            committed = start.base
            note = start.note
            let touched = start.note?.window ?? window
            touchedBelow = start.base + touched
            // Until our own note is there, a successor goes by the earlier owner's; where there is none, or it says that
            // nothing is out, he would not wait for what we have out.
            grantedBelow = start.base + (Self.saysThatSomethingIsOut(start.note) ? min(touched, window) : 0)
            receiptsFrom = start.note?.receiptsFrom ?? 0
            notedFrom = receiptsFrom
        }

        private static func saysThatSomethingIsOut(_ note: CommitNote?) -> Bool {
            guard let note else { return false }
            return note.endedAt == nil
        }

        /// Nothing may be begun before our own note is there.
        var needsOwnNote: Bool { grantedBelow == committed && !Self.saysThatSomethingIsOut(note) }

        /// Sheets that an earlier owner began, or that he wrote to a tier, may be unfinished: also those that were not
        /// read yet, or that are held back.
        func owesToEarlierOwner(_ topic: JobTopic) -> Bool {
            if let ownFrom, tracker.base >= ownFrom { return false }
            if let caughtUpAt, tracker.unfinished == 0 || tracker.base >= caughtUpAt { return false }
            return topic.tier != nil || tracker.base < touchedBelow
        }

        /// We wrote a sheet to it after every earlier owner.
        mutating func wrote(at offset: Int64, unplacedBefore: Int) {
            if unplacedBefore == unplaced { ownFrom = ownFrom ?? offset }
        }

        /// Whether a sheet is taken; after one that is not, the partition waits.
        mutating func takes(_ record: SheetRecord, at moment: Moment) -> Bool {
            reading?.takes(record, at: moment) ?? true
        }

        /// The sheet that is not due; the partition is not read on before it is.
        var next: TierReading.Next? { reading?.next }
        var isWaiting: Bool { next != nil }

        mutating func goOn() { reading?.goOn() }
    }

    let number: Int32
    var phase = Phase.reading
    var tracks: [Track]
    var ledger: Ledger
    /// What we write to `receipts` lies at or above it.
    var receiptsEnd: Int64 = 0
    /// So far `receipts` were read. What lies behind it, an earlier owner may have written beside us.
    var readUntil: Int64 = 0
    /// Sheets that wait until an earlier owner has settled.
    var held: [Sheet] = []
    /// Its receipts were read, so that its notes are our own; and whatever an earlier owner had out has ended.
    var hasBegun = false
    var isSettled = false
    /// As an orphan: until then its next owner still reads what hands jobs on to him.
    var handsOnUntil = Instant(nanoseconds: 0)
    /// Something was found in `receipts` from where his notes begin.
    var hasFoundReceipts = false
    var sheets = 0
    /// Pushes that are out, and records that are not acknowledged.
    @safe @exclusivity(unchecked) var inFlight = 0
    var writing = 0

    init(_ start: LaneStart, window: Int64, ledgerSheetsMax: Int) {
        number = start.lane
        tracks = zip(start.tracks, JobTopic.allCases).map { Track($0, of: $1, window: window) }
        ledger = Ledger(sheetsMax: ledgerSheetsMax)
    }

    /// Everything of it is stored.
    var isDrained: Bool { sheets == 0 && writing == 0 }

    /// From where the earlier owners' receipts are read.
    var receiptsFrom: Int64 { tracks.map(\.receiptsFrom).min() ?? 0 }

    /// Whether an earlier owner may still have pushes of the topic out, where `receipts` end.
    func isUnsettled(_ topic: JobTopic, endingAt end: Int64) -> Bool {
        guard let note = tracks[topic.rawValue].note else { return hasFoundReceipts }
        return note.endedAt != end
    }

    /// Whether a sheet has to wait for that.
    func isHeld(_ sheet: Sheet) -> Bool {
        isWaitingForEarlierOwner && sheet.offset < tracks[sheet.topic.rawValue].touchedBelow
    }

    private var isWaitingForEarlierOwner: Bool {
        switch phase {
        case .settling, .rereading: true
        case .awaitingOrphan, .reading, .open, .releasing, .orphaned: false
        }
    }

    /// Sheets that no earlier owner began wait behind his for our own note; all of them do where his does not say that
    /// something is out.
    func wantsWindow(_ topic: JobTopic, _ window: Int64) -> Bool {
        let track = tracks[topic.rawValue]
        if track.ahead.isEmpty { return false }
        if track.needsOwnNote { return true }
        return isWaitingForEarlierOwner && track.grantedBelow < track.touchedBelow + window
    }

    /// A topic of it needs our own note at once; those of the others go with it, so that none waits for its own later.
    var leavesWord: Bool { tracks.contains { !$0.ahead.isEmpty && $0.needsOwnNote } }

    var mayPush: Bool {
        switch phase {
        case .settling, .rereading, .open: true
        case .awaitingOrphan, .reading, .releasing, .orphaned: false
        }
    }

    /// It is another's, or soon will be: nothing new is begun, and what fails is the next owner's.
    var isLeaving: Bool { phase == .releasing || phase == .orphaned }

    /// What a successor must know; `isEnding` when nothing is out any more.
    func note(of topic: JobTopic, window: Int64, isEnding: Bool) -> CommitNote {
        let base = tracks[topic.rawValue].tracker.base
        let heldFrom = tracks[topic.rawValue].twins.receiptsFrom(above: base)
        let track = tracks[topic.rawValue]
        var from = track.tracker.receiptsFrom(otherwise: receiptsEnd)
        if track.owesToEarlierOwner(topic) { from = min(from, track.receiptsFrom) }
        if let heldFrom { from = min(from, heldFrom) }
        // While an earlier owner's sheets wait, those above them may be begun as soon as a successor is told to look
        // at both.
        var below = max(track.grantedBelow, track.touchedBelow)
        if isWaitingForEarlierOwner { below = max(below, track.touchedBelow + window) }
        return CommitNote(
            receiptsFrom: from, window: max(window, below - base),
            endedAt: isEnding && isSettled ? receiptsEnd : nil)
    }
}
