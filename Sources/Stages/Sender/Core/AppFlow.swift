internal import Lifecycle
package import LiveActivity

/// The work of one app in one environment. Each has separate queues, so that trouble of one app does not
/// affect another.
package final class AppFlow {
    package struct Name: Hashable, Sendable {
        package let app: String
        package let environment: Environment

        package init(app: String, environment: Environment) {
            self.app = app
            self.environment = environment
        }
    }

    /// A line that is tried again outside the order of its sheet.
    struct Again {
        let sheet: Sheet
        let line: Int
    }

    package let name: Name
    let number: UInt64
    var urgent = LaneTurns()
    var usual = LaneTurns()
    var again = Queue<Again>()
    /// Lines that wait for room on the suspect connections.
    var suspects = Queue<Again>()
    /// Time when a line last left `suspects`, or when the first one came.
    var suspectsMovedAt = Instant(nanoseconds: 0)
    /// Number of queued sheets that have nothing left to send.
    var over = 0
    /// Number of urgent pushes in a row.
    var urgentRun = 0
    /// Pushes that its connections still take; nil if they were not asked in this turn.
    @safe @exclusivity(unchecked) var room: Int?
    @safe @exclusivity(unchecked) var suspectRoom: Int?
    @safe @exclusivity(unchecked) var permits = 0
    /// Starts whose intent is written or being written and that have not left. They need room on the suspect
    /// connections or on the others.
    var intended = 0
    var suspectsIntended = 0
    /// The time until which one sheet of a lane waits in the short tier to probe an open breaker. The next
    /// owner of the lane reads that sheet too.
    var scoutsBack: [Int32: Instant] = [:]
    @safe @exclusivity(unchecked) var breaker = Breaker()
    var lastUsed = Instant(nanoseconds: 0)
    /// Sheets in hand, and pushes in flight.
    @safe @exclusivity(unchecked) var sheets = 0
    @safe @exclusivity(unchecked) var inFlight = 0
    @safe @exclusivity(unchecked) var silence = AppSilence()

    /// Limit of an app's lines in one turn.
    static let turnLinesMax = 64
    /// At least one of this many pushes is of the usual class while that class has any.
    static let usualEvery = 8

    /// Limit of lines that wait for room on the suspect connections. Further lines move to a tier, because
    /// the sheets of waiting lines hold up their partitions.
    static let suspectsMax = 1_000

    init(_ name: Name, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// Whether the suspect connections have taken nothing for some time.
    func areSuspectsStuck(at now: Instant) -> Bool {
        !suspects.isEmpty && now.milliseconds(since: suspectsMovedAt) >= AppSilence.shortMilliseconds
    }

    /// Notes that APNs has answered one of its pushes.
    func heard(at now: Instant) { silence.heard(at: now, isMoreOut: inFlight > 0) }

    var hasWork: Bool { !urgent.isEmpty || !usual.isEmpty || !again.isEmpty || !suspects.isEmpty }

    func enqueue(_ sheet: Sheet, seed: UInt64) {
        sheet.isQueued = true
        if sheet.topic == .urgent {
            urgent.append(sheet, seed: seed)
        } else {
            usual.append(sheet, seed: seed)
        }
    }

    /// Counts a queued sheet whose lines are all decided or abandoned. Such sheets are removed when they are
    /// the majority.
    func noteOver() {
        over += 1
        guard over > 16, over * 2 > urgent.count + usual.count else { return }
        over = 0
        for path in [\AppFlow.urgent, \AppFlow.usual] {
            self[keyPath: path].removeAll { sheet in
                if !sheet.isOver { return false }
                sheet.isQueued = false
                return true
            }
        }
    }
}

extension Sheet {
    /// Whether no line of the sheet waits for a turn or can wait for one later.
    var isOver: Bool { undecided == 0 || isAbandoned }
}
