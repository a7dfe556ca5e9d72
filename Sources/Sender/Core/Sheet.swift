package import APNs
internal import Lifecycle
package import LiveActivity

/// A sheet in hand. It is a unit of reading: what is decided is decided for each line.
///
/// A class, because many tables point to it, and its lines change for every push.
package final class Sheet {
    package let topic: JobTopic
    package let offset: Int64
    package let head: SheetHead
    package let index: SheetIndex
    @safe @exclusivity(unchecked) package internal(set) var content: SheetContent
    /// Strong, as looking at an unowned one costs more than the core's whole bookkeeping of a push; a lane that is
    /// let go of has dropped its sheets.
    let lane: Lane
    package let app: AppFlow
    /// Where its jobs first stood, and which lines they were there.
    package let place: JobPlace
    let originLines: [Int]?
    package let attempt: Int
    let tries: Int
    let reason: String?
    /// Of the whole group; nil where there is none.
    let group: Fingerprint?
    /// Its number among the sheets in hand.
    package internal(set) var slot = -1
    /// The request, made by the worker when the first line leaves.
    @safe @exclusivity(unchecked) package var template: PushTemplate?
    /// Unchecked, as are template, content and counts: one thread has them, nothing called meanwhile touches them, and
    /// every push comes by here several times (a sixth of the core's time).
    @safe @exclusivity(unchecked) var states: [LineState]
    /// For each line: what only one push at a time may be about. Empty until the first leaves.
    @safe @exclusivity(unchecked) var subjects: [UInt64] = []
    /// Of a recipient's scope, for each line: the activity within the scope.
    var activities: [Fingerprint] = []
    /// Lines before it are not queued, but for those that came back into `AppFlow.again`.
    @safe @exclusivity(unchecked) var cursor = 0
    /// It goes on with a pass that was broken off, before those of its update that came sooner.
    var goesOn = false
    /// Lines before it were passed over, and come when those behind it have left.
    private(set) var passedOver = 0
    /// Lines that are not done, and those of them that nothing was decided of.
    @safe @exclusivity(unchecked) var unfinished: Int
    @safe @exclusivity(unchecked) var undecided: Int
    /// An earlier owner may have had it, or a twin of it is about.
    var asksLedger = false
    /// The ledger's revision that its lines were held against.
    var ledgerSeen = 0
    /// Its part of the decided lines that are not written yet.
    @safe @exclusivity(unchecked) var accepted = LineBits()
    var decided: [(what: Decided, lines: LineBits)] = []
    var isUnwritten = false
    /// Where it stands among the sheets of its group; -1 where it does not.
    fileprivate var indexInGroup = -1
    /// The worker was asked for it, and can push it.
    var hasWay = false
    /// Some line of it has had its turn, and was not dropped.
    var isBegun = false
    /// It is in the queue of its app.
    var isQueued = false
    var isAbandoned = false
    @safe @exclusivity(unchecked) private var pushName: UInt64 = 0

    /// What becomes of a line, other than being accepted.
    enum Decided: Sendable, Hashable {
        case final(ReceiptOutcome, status: Int?, reason: String?)
        case later(LaterTier, tries: Int, status: Int?, reason: String?)
        case letter(code: String, status: Int?, reason: String?)
        /// The intent is taken back.
        case released
    }

    init(
        _ record: SheetRecord, _ topic: JobTopic, at offset: Int64, in lane: Lane, of app: AppFlow,
        group: Fingerprint?
    ) {
        (self.topic, self.offset, self.lane, self.app, self.group) = (topic, offset, lane, app, group)
        (head, index, content) = (record.head, record.index, record.content)
        if let origin = record.origin {
            place = JobPlace(topic: origin.topic, partition: origin.partition, offset: origin.offset)
            var lines: [Int] = []
            origin.lines.forEachLine { lines.append($0) }
            originLines = lines
            (attempt, tries, reason) = (origin.attempt, origin.tries, origin.reason)
        } else {
            place = JobPlace(topic: topic.word, partition: lane.number, offset: offset)
            originLines = nil
            (attempt, tries, reason) = (1, 0, nil)
        }
        states = Array(repeating: LineState(), count: record.index.lines.count)
        unfinished = states.count
        undecided = states.count
    }

    package var lineCount: Int { states.count }

    /// Lines that were decided and not written.
    var unwrittenLines: Int { decided.reduce(accepted.count) { $0 + $1.lines.count } }

    /// The `apns-id` of a push of one of its jobs: the same whenever this attempt is made, so that a push that
    /// was doubled can be found. The last two groups are the attempt and the line.
    package func pushID(_ line: Int) -> PushID {
        if pushName == 0 {
            let text = "\(place.topic)/\(place.partition)/\(place.offset)"
            pushName = Fingerprint(seed: 0, text).high | 1
        }
        return PushID(high: pushName, low: UInt64(attempt & 0xFFFF) << 48 | UInt64(originLine(line)))
    }

    /// A part of a line.
    package func text(_ part: Range<Int32>) -> String {
        String(decoding: content.to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }

    package func bytes(_ part: Range<Int32>) -> ArraySlice<UInt8> {
        content.to[Int(part.lowerBound)..<Int(part.upperBound)]
    }

    /// Where its jobs come from, for a letter that a person may send again.
    package func origin(of lines: LineSet, reason: String?) -> SheetOrigin {
        SheetOrigin(
            topic: place.topic, partition: place.partition, offset: place.offset, lines: origin(of: lines),
            attempt: attempt, tries: tries, dueAt: 0, reason: reason)
    }

    /// The lines before this one come last.
    func goesOn(from line: Int) {
        goesOn = true
        (cursor, passedOver) = (line, line)
    }

    /// With the lines that were passed over.
    func beginAnew() {
        goesOn = false
        (cursor, passedOver) = (0, 0)
    }

    /// The line's number on the sheet where its job first stood.
    package func originLine(_ line: Int) -> Int { originLines?[line] ?? line }

    /// Likewise for many.
    func origin(of lines: LineSet) -> LineSet {
        guard let originLines else { return lines }
        var set = LineSet()
        lines.forEachLine { set.append(originLines[$0]) }
        return set
    }

    /// Memory that it takes, roughly.
    var cost: Int { content.bytes + states.count * 48 + 1_024 }

    /// What only one push at a time may be about: an activity, or what an installation starts.
    func nameSubjects(seed: UInt64) {
        subjects.reserveCapacity(states.count)
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var maker = FingerprintMaker(seed: seed)
                let place = head.event == .start ? line.installation : line.subject
                unsafe maker.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(place.lowerBound)..<Int(place.upperBound)]))
                maker.add(app.number)
                subjects.append(maker.made.high)
            }
        }
    }

    /// Activities by the scope that orders their versions.
    func nameActivities(seed: UInt64) {
        guard head.scope == .recipient, head.event != .start else { return }
        let group = Fingerprint(seed: seed, head.group ?? "")
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var maker = FingerprintMaker(seed: group.high ^ app.number)
                unsafe maker.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(line.subject.lowerBound)..<Int(line.subject.upperBound)]))
                activities.append(maker.made)
            }
        }
    }
}

/// The sheets in hand of one group, in no order: a group may have thousands, and they come and go one by one.
final class GroupSheets {
    private(set) var sheets: [Sheet] = []

    func add(_ sheet: Sheet) {
        sheet.indexInGroup = sheets.count
        sheets.append(sheet)
    }

    func remove(_ sheet: Sheet) {
        let index = sheet.indexInGroup
        guard index >= 0 else { return }
        sheet.indexInGroup = -1
        let last = sheets.removeLast()
        guard last !== sheet else { return }
        sheets[index] = last
        last.indexInGroup = index
    }
}
