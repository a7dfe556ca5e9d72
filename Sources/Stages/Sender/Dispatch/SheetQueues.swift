/// The sheets of an app that wait to be pushed, in one queue for each class (`JobClass`). Urgent sheets go first, and
/// normal sheets get a share of the pushes.
struct SheetQueues {
    private var urgent = LaneRotation()
    private var normal = LaneRotation()
    /// Number of urgent pushes since the last normal one.
    private var urgentInSuccession = 0
    /// Number of queued sheets that have no more lines to send (`Sheet.isOver`).
    private var sheetsOver = 0

    /// At least one of this many pushes is a normal one while normal sheets wait.
    private static let pushesPerNormalPush = 8
    /// Sheets that are over stay in their queues up to this number, because a removal searches the whole queues.
    private static let sheetsOverKept = 16

    var isEmpty: Bool { urgent.isEmpty && normal.isEmpty }

    /// The queue of a class.
    private subscript(jobClass: JobClass) -> LaneRotation {
        _read {
            switch jobClass {
            case .urgent: yield urgent
            case .normal: yield normal
            }
        }
        _modify {
            switch jobClass {
            case .urgent: yield &urgent
            case .normal: yield &normal
            }
        }
    }

    /// Queues a sheet.
    ///
    /// - Parameter seed: of the fingerprints of subjects.
    mutating func enqueue(_ sheet: Sheet, seed: UInt64) {
        sheet.isQueued = true
        self[sheet.topic.jobClass].append(sheet, seed: seed)
    }

    /// The next sheet: urgent sheets first, but normal sheets get their share.
    var next: (sheet: Sheet, jobClass: JobClass)? {
        let isNormalDue = urgent.isEmpty || urgentInSuccession + 1 >= Self.pushesPerNormalPush
        if isNormalDue, let sheet = normal.first { return (sheet, .normal) }
        return urgent.first.map { ($0, .urgent) }
    }

    /// The result of `advanceCursorOrDequeue`.
    enum CursorResult {
        /// The sheet is still the next one, and its cursor is at an unsent line.
        case atLine
        /// The sheet was at its end, so another sheet is next.
        case dequeued
    }

    /// Moves the cursor of the next sheet to an unsent line. Without an unsent line, the sheet leaves the queue.
    /// But if lines of it were passed over, the sheet goes behind the others of its lane, and these lines come then.
    mutating func advanceCursorOrDequeue(_ sheet: Sheet, of jobClass: JobClass) -> CursorResult {
        while sheet.cursor < sheet.lineCount, !sheet.isUnsent(sheet.cursor) { sheet.cursor += 1 }
        guard sheet.isOver || sheet.cursor == sheet.lineCount else { return .atLine }
        if !sheet.isOver, sheet.passedOverCount > 0 {
            self[jobClass].putBackFirst()
        } else {
            sheet.isQueued = false
            self[jobClass].removeFirst()
        }
        return .dequeued
    }

    /// Counts dispatched lines of a class, so that normal sheets get their share.
    mutating func countDispatched(_ count: Int, of jobClass: JobClass) {
        switch jobClass {
        case .urgent: urgentInSuccession += count
        case .normal: urgentInSuccession = 0
        }
    }

    /// Returns the number of lines that may leave before lines of the other class.
    func linesBeforeOtherClass(than jobClass: JobClass) -> Int {
        switch jobClass {
        case .urgent: normal.isEmpty ? .max : max(1, Self.pushesPerNormalPush - 1 - urgentInSuccession)
        case .normal: urgent.isEmpty ? .max : 1
        }
    }

    /// Notes where a newer state interrupts the passes of sheets. The caller drops the sheets afterwards.
    mutating func interruptPasses(of interrupted: [Sheet], seed: UInt64) {
        for jobClass in JobClass.allCases {
            let sheets = interrupted.filter { $0.topic.jobClass == jobClass }
            if !sheets.isEmpty { self[jobClass].interruptPasses(of: sheets, seed: seed) }
        }
    }

    /// Counts a queued sheet whose lines are all decided or left to the next owner. Such sheets are removed when they
    /// are the majority.
    mutating func noteSheetIsOver() {
        sheetsOver += 1
        let areMajority = sheetsOver * 2 > urgent.count + normal.count
        guard sheetsOver > Self.sheetsOverKept, areMajority else { return }
        sheetsOver = 0
        urgent.removeAll(where: Self.leaveQueueIfOver)
        normal.removeAll(where: Self.leaveQueueIfOver)
    }

    /// Returns whether the sheet is over, and then notes that it leaves the queue.
    private static func leaveQueueIfOver(_ sheet: Sheet) -> Bool {
        if sheet.isOver { sheet.isQueued = false }
        return sheet.isOver
    }
}
