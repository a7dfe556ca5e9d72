package import APNs
internal import Lifecycle
package import LiveActivity

/// A sheet in hand. Sheets are read as units, but each line is decided separately.
///
/// It is a class, because many tables point to it and its lines change with every push.
package final class Sheet {
    package let topic: JobTopic
    package let offset: Int64
    package let head: SheetHead
    package let index: SheetIndex
    @safe @exclusivity(unchecked) package internal(set) var content: SheetContent
    /// A strong reference, because access to an unowned one costs more than all other bookkeeping of a push.
    /// A lane that is let go has dropped its sheets.
    let lane: Lane
    package let app: AppFlow
    /// The position where its jobs were first stored, and their line numbers there.
    package let place: JobPlace
    let originLines: [Int]?
    package let attempt: Int
    let tries: Int
    let reason: String?
    /// Fingerprint of the group, if the send names one.
    let group: Fingerprint?
    /// Its index among the sheets in hand.
    package internal(set) var slot = -1
    /// The request. The worker makes it when the first line leaves.
    @safe @exclusivity(unchecked) package var template: PushTemplate?
    /// Access is unchecked here, and for template, content and counts. Only one thread uses them, nothing
    /// that is called meanwhile touches them, and every push accesses them several times. The checks cost a
    /// sixth of the core's time.
    @safe @exclusivity(unchecked) var states: [LineState]
    /// The subject of each line: only one push at a time may be under way for a subject. It is empty until
    /// the first line leaves.
    @safe @exclusivity(unchecked) var subjects: [UInt64] = []
    /// The activity of each line, for sends to a recipient's scope.
    var activities: [Fingerprint] = []
    /// Lines before the cursor are not queued, except those that are in `AppFlow.again`.
    @safe @exclusivity(unchecked) var cursor = 0
    /// Whether it continues a pass that was broken off, ahead of earlier sheets of the same update.
    var goesOn = false
    /// Lines before this one were passed over. They leave after the lines behind it.
    private(set) var passedOver = 0
    /// Number of lines that are not done, and number of lines that are not decided.
    @safe @exclusivity(unchecked) var unfinished: Int
    @safe @exclusivity(unchecked) var undecided: Int
    /// Whether an earlier owner may have begun it, or a twin of it may exist.
    var asksLedger = false
    /// The revision of the ledger with which its lines were compared.
    var ledgerSeen = 0
    /// Decided lines that are not written yet: accepted ones, and the others.
    @safe @exclusivity(unchecked) var accepted = LineBits()
    var decided: [(what: Decided, lines: LineBits)] = []
    var isUnwritten = false
    /// Its index among the sheets of its group; -1 if it is not in the list.
    fileprivate var indexInGroup = -1
    /// Whether the worker was asked about it and can push it.
    var hasWay = false
    /// Whether a line of it has had its turn and was not dropped.
    var isBegun = false
    /// Whether it is in the queue of its app.
    var isQueued = false
    var isAbandoned = false
    @safe @exclusivity(unchecked) private var pushName: UInt64 = 0

    /// The outcome of a line that was not accepted.
    enum Decided: Sendable, Hashable {
        case final(ReceiptOutcome, status: Int?, reason: String?)
        case later(LaterTier, tries: Int, status: Int?, reason: String?)
        case letter(code: String, status: Int?, reason: String?)
        /// The intent is withdrawn.
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

    /// Number of lines that are decided and not written.
    var unwrittenLines: Int { decided.reduce(accepted.count) { $0 + $1.lines.count } }

    /// Returns the `apns-id` of a push of one of its jobs. It is the same whenever this attempt is made, so
    /// that a duplicated push can be found. The last two groups are the attempt and the line.
    package func pushID(_ line: Int) -> PushID {
        if pushName == 0 {
            let text = "\(place.topic)/\(place.partition)/\(place.offset)"
            pushName = Fingerprint(seed: 0, text).high | 1
        }
        return PushID(high: pushName, low: UInt64(attempt & 0xFFFF) << 48 | UInt64(originLine(line)))
    }

    /// Returns a part of a line as text.
    package func text(_ part: Range<Int32>) -> String {
        String(decoding: content.to[Int(part.lowerBound)..<Int(part.upperBound)], as: UTF8.self)
    }

    package func bytes(_ part: Range<Int32>) -> ArraySlice<UInt8> {
        content.to[Int(part.lowerBound)..<Int(part.upperBound)]
    }

    /// Returns the origin of its jobs, for a dead letter that a person may send again.
    package func origin(of lines: LineSet, reason: String?) -> SheetOrigin {
        SheetOrigin(
            topic: place.topic, partition: place.partition, offset: place.offset, lines: origin(of: lines),
            attempt: attempt, tries: tries, dueAt: 0, reason: reason)
    }

    /// Lets the pass continue at a line. The lines before it come last.
    func goesOn(from line: Int) {
        goesOn = true
        (cursor, passedOver) = (line, line)
    }

    /// Returns to the lines that were passed over.
    func beginAnew() {
        goesOn = false
        (cursor, passedOver) = (0, 0)
    }

    /// Returns the number that the line had on the sheet where its job was first stored.
    package func originLine(_ line: Int) -> Int { originLines?[line] ?? line }

    /// Returns the first numbers of many lines.
    func origin(of lines: LineSet) -> LineSet {
        guard let originLines else { return lines }
        var set = LineSet()
        lines.forEachLine { set.append(originLines[$0]) }
        return set
    }

    /// Approximate memory of the sheet, in bytes.
    var cost: Int { content.bytes + states.count * 48 + 1_024 }

    /// Computes the subjects: the activity of each line, or the installation of a start.
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

    /// Computes the activities, by the scope that orders their versions.
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

/// The sheets in hand of one group, in no order. A group may have thousands, which come and go one by one.
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
