internal import Jobs

/// The permits and subjects that lines hold. A permit is the right to one push without a stored outcome. A subject is
/// the activity or start token that a line pushes to.
///
/// A push leaves only with a permit, and only one push at a time may be under way for a subject. A line is blocked
/// while another line holds its subject. `LineState` has what each line holds, and this value has the sums.
struct LineClaims {
    private(set) var permits: Permits
    private var subjects = SubjectTable()
    /// Lines that wait for a subject, by the subject.
    private var blocked: [UInt64: [QueuedLine]] = [:]
    /// The seed of the fingerprints of subjects.
    private let seed: UInt64

    init(permitsMax: Int, seed: UInt64) {
        permits = Permits(limit: permitsMax)
        self.seed = seed
    }

    /// Number of held subjects.
    var heldSubjectCount: Int { subjects.count }

    // MARK: Permits

    /// Lifts the first limit of permits, because a record was stored.
    mutating func recordStored() { permits.liftFirstLimit() }

    /// Returns how many more permits an app may take.
    ///
    /// - Parameter isAlone: whether no other app has work.
    func availablePermits(for app: AppQueues, isAlone: Bool) -> Int {
        permits.available(holding: app.permits, isAlone: isAlone)
    }

    /// Takes a permit for the line, unless it has one. Returns the number of newly taken permits.
    @discardableResult
    mutating func takePermit(_ sheet: Sheet, line: Int) -> Int {
        guard sheet.states[line].reservation == .nothing else { return 0 }
        sheet.reserve(.permit, for: line)
        takePermits(1, for: sheet.app)
        return 1
    }

    /// Takes permits for lines whose states the caller has changed (`Sheet.pushOrdinary`).
    mutating func takePermits(_ count: Int, for app: AppQueues) {
        permits.take(count)
        app.permits += count
    }

    /// Gives back the line's permit, if it has one.
    mutating func giveBackPermit(_ sheet: Sheet, line: Int) {
        guard sheet.states[line].reservation != .nothing else { return }
        sheet.reserve(.nothing, for: line)
        permits.giveBack()
        sheet.app.permits -= 1
    }

    /// Ends lines whose outcomes are stored or are left to the next owner, and frees what they hold.
    mutating func finish(_ sheet: Sheet, lines: LineSet) {
        var permitCount = 0
        for range in lines.ranges {
            for line in range {
                let hasPermit = sheet.states[line].reservation != .nothing
                guard sheet.move(line, on: .finished) else { continue }
                if hasPermit { permitCount += 1 }
                freeSubject(sheet, line: line)
            }
        }
        permits.giveBack(permitCount)
        sheet.app.permits -= permitCount
    }

    // MARK: Subjects

    /// Holds the subject of an ordinary line. Returns false if another line holds it.
    mutating func holdSubject(_ subject: UInt64) -> Bool { subjects.insert(subject) }

    /// Holds the line's subject, unless the line or another one holds it already.
    @inline(__always)
    mutating func holdSubject(_ sheet: Sheet, line: Int) {
        if !sheet.states[line].holdsSubject { holdFreeSubject(sheet, line: line) }
    }

    private mutating func holdFreeSubject(_ sheet: Sheet, line: Int) {
        sheet.ensureSubjects(seed: seed)
        if subjects.insert(sheet.subjects[line]) { sheet.setHoldsSubject(true, for: line) }
    }

    /// Whether another push to the line's subject is under way.
    func isSubjectBusy(_ sheet: Sheet, line: Int) -> Bool {
        sheet.ensureSubjects(seed: seed)
        return !sheet.states[line].holdsSubject && subjects.contains(sheet.subjects[line])
    }

    /// Lets a line wait until its subject is free.
    mutating func block(_ sheet: Sheet, line: Int) {
        guard sheet.move(line, on: .subjectIsBusy) else { return }
        blocked[sheet.subjects[line], default: []].append(QueuedLine(sheet: sheet, line: line))
    }

    /// Frees the line's subject, so that another push to it may leave.
    @inline(__always)
    mutating func freeSubject(_ sheet: Sheet, line: Int) {
        if sheet.states[line].holdsSubject { freeHeldSubject(sheet, line: line) }
    }

    private mutating func freeHeldSubject(_ sheet: Sheet, line: Int) {
        sheet.setHoldsSubject(false, for: line)
        subjects.remove(sheet.subjects[line])
        if blocked.isEmpty { return }
        // All lines that waited for the subject are dispatched again. The first of them takes the subject, and the
        // others are blocked again.
        for next in blocked.removeValue(forKey: sheet.subjects[line]) ?? []
        where next.sheet.isInHand && next.sheet.states[next.line].stage == .blocked {
            next.sheet.app.requeue(next)
        }
    }
}
