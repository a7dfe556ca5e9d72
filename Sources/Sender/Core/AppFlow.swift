internal import Lifecycle
package import LiveActivity

/// What is under way for one app in one environment. Each has queues of its own, so that the trouble of one
/// is not another's.
package final class AppFlow {
    package struct Name: Hashable, Sendable {
        package let app: String
        package let environment: Environment

        package init(app: String, environment: Environment) {
            self.app = app
            self.environment = environment
        }
    }

    /// One line that comes again, out of the order of its sheet.
    struct Again {
        let sheet: Sheet
        let line: Int
    }

    package let name: Name
    let number: UInt64
    var urgent = LaneTurns()
    var usual = LaneTurns()
    var again = Queue<Again>()
    /// Lines that wait for room on the connections of suspects.
    var suspects = Queue<Again>()
    /// The last time that one of them left, or that the first of them came.
    var suspectsMovedAt = Instant(nanoseconds: 0)
    /// Sheets in the queues that have nothing to send any more.
    var over = 0
    /// Pushes in a row that were not of the usual class.
    var urgentRun = 0
    /// Pushes that its connections take yet; nil where nobody has asked in this turn.
    @safe @exclusivity(unchecked) var room: Int?
    @safe @exclusivity(unchecked) var suspectRoom: Int?
    @safe @exclusivity(unchecked) var permits = 0
    /// Starts whose intent is written or being written, and that have not left. They have room on the connections of
    /// suspects, or on the others.
    var intended = 0
    var suspectsIntended = 0
    /// Of each lane a sheet is in the short tier until then, to try for a breaker that is open: whoever gets a lane
    /// gets its scout with it.
    var scoutsBack: [Int32: Instant] = [:]
    @safe @exclusivity(unchecked) var breaker = Breaker()
    var lastUsed = Instant(nanoseconds: 0)
    /// Sheets in hand, and pushes that are out.
    @safe @exclusivity(unchecked) var sheets = 0
    @safe @exclusivity(unchecked) var inFlight = 0
    @safe @exclusivity(unchecked) var silence = AppSilence()

    /// Lines of an app in its turn, at most.
    static let turnLinesMax = 64
    /// Of pushes, at least one in so many is of the usual class while that has any.
    static let usualEvery = 8

    /// Lines that wait for room on the connections of suspects, at most; those beyond go to a tier. The sheets of waiting
    /// lines hold up their partitions.
    static let suspectsMax = 1_000

    init(_ name: Name, number: UInt64) {
        self.name = name
        self.number = number
    }

    /// The connections of suspects take nothing.
    func areSuspectsStuck(at now: Instant) -> Bool {
        !suspects.isEmpty && now.milliseconds(since: suspectsMovedAt) >= AppSilence.shortMilliseconds
    }

    /// APNs has answered one of its pushes.
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

    /// A sheet in a queue has nothing to send any more; some time they go.
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
    /// Nothing on it waits for its turn, nor ever will.
    var isOver: Bool { undecided == 0 || isAbandoned }
}
