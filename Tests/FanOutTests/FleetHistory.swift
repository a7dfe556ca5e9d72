import FanOut
import Foundation
import Identifiers
import ProcessTesting
import Sends
import Simulation

/// A random history of phones, a planner and lanes: sends, cancels, late tokens, crashes, lanes that move,
/// and pages of any size, in any order. A separate account without versions checks the result.
final class FleetHistory {
    struct Violation: Error, CustomStringConvertible { let description: String }

    let lanes = 2
    let planner: Planner
    var random: SeededGenerator
    let directory: TemporaryDirectory
    var rows = Rows()
    var topics: [VirtualLane]
    var owners: [LaneOwner?]
    var phones: [Phone]
    var heldSends: [Plan.HeldSend] = []
    /// Jobs that wait for their sender, in any order.
    var waitingJobs: [Job] = []
    var sent: [Send] = []
    var account = FleetAccount()
    /// Seconds since `dawn`.
    var now: Int64 = 0
    var tokenCount = 0
    var activityCount = 0
    var sendCount = 0
    private(set) var steps = 0
    /// The subscriptions of the lanes, in order.
    var subscriptions: [Subscription] = []
    /// The random source for the time of the answers, independent of all other events.
    var answerRandom: SeededGenerator
    /// Whether some phones do not report the group of a started activity. Then only one group can be started.
    let hidesSomeGroups: Bool
    /// The number of starts per generation of a scope and installation.
    var starts: [String: Int] = [:]
    /// The restarts per generation of a scope and installation.
    var restarts: [String: Set<String>] = [:]
    /// The version of the END that each token got.
    var ends: [String: Int64] = [:]
    /// The versions and timestamps of the updates that each activity got.
    var updates: [String: [(version: Int64, timestamp: Int64)]] = [:]
    /// The highest timestamp of an END that each activity got.
    var endTimestamps: [String: Int64] = [:]
    /// The number of completion reports per send and lane.
    var completionReports: [String: Int] = [:]
    /// The visits that updates with `conflate: false` owe to members, until they have made them.
    var owedVisits: Set<OwedVisit> = []
    /// The number of expansions per send and lane. Each must have one completion report.
    var expectedReports: [String: Int] = [:]

    /// The additional kinds of events, and their random source. It is separate so that a seed gives the same
    /// history otherwise.
    let extraEvents: ExtraEvents
    var extraRandom: SeededGenerator

    /// - Parameter extraEvents: The additional kinds of events. Nil chooses some by the seed.
    init(seed: UInt64, extraEvents: ExtraEvents? = nil) throws {
        extraRandom = SeededGenerator(seed: seed &+ 2)
        let chosen = ExtraEvents(rawValue: extraRandom.number(below: ExtraEvents.all.rawValue + 1))
        self.extraEvents = extraEvents ?? chosen
        random = SeededGenerator(seed: seed)
        answerRandom = SeededGenerator(seed: seed &+ 1)
        hidesSomeGroups = random.number(below: 2) == 0
        directory = try TemporaryDirectory()
        let lanes = lanes
        planner = Planner(lanes: lanes) { _, recipient in recipient.text.utf8.count % lanes }
        topics = Array(repeating: VirtualLane(), count: lanes)
        owners = Array(repeating: nil, count: lanes)
        phones = []
        for (user, phone) in [("a", "p1"), ("a", "p2"), ("bb", "p3"), ("cc", "p4"), ("ddd", "p5")] {
            phones.append(Phone(user: user, installation: phone))
        }
    }

    /// The current time in milliseconds since 1970.
    var nowMilliseconds: Int64 { (dawn + now) * 1000 }
    func lane(of user: String) -> Int { (user.utf8.count + 2) % lanes }
    /// Draws whether an event of this probability occurs.
    func chance(_ percent: Int) -> Bool { random.number(below: 100) < percent }

    // MARK: Steps

    func run(steps count: Int) throws {
        for index in phones.indices where chance(80) { reportStartToken(ofPhone: index) }
        for _ in 0..<count { try step() }
        try settle()
        try check()
        try checkOwedVisits()
        if extraEvents.contains(.safetyEnds) { try checkSafetyEnds() }
        try endAndStartAgain()
        for owner in owners { try owner?.close() }
    }

    func step() throws {
        steps += 1
        if answerRandom.number(below: 100) < 30 { try answer() }
        if extraEvents.contains(.ownActivities), extraRandom.number(below: 100) < 3 { startOwnActivity() }
        if extraEvents.contains(.namedActivities), extraRandom.number(below: 100) < 6 { try sendByName() }
        if extraEvents.contains(.repeatedReports), extraRandom.number(below: 100) < 15 { repeatReport() }
        switch random.number(below: 100) {
        case 0..<18: try send()
        case 18..<22: try cancel()
        case 22..<62: try runTransaction(of: random.number(below: lanes))
        case 62..<74: try deliver()
        case 74..<90: report()
        case 90..<96: try passTime(seconds: Int64(random.number(below: 4)))
        default: try stopOwner(of: random.number(below: lanes))
        }
    }

    func passTime(seconds: Int64) throws {
        now += seconds
        let due = heldSends.filter { $0.at <= dawn + now }
        heldSends.removeAll { $0.at <= dawn + now }
        for send in due {
            try take(try planner.release(send.key, now: dawn + now, in: &rows))
        }
    }

    /// Stops the lane's owner. The next step makes another owner.
    func stopOwner(of lane: Int) throws {
        try owners[lane]?.close()
        owners[lane] = nil
        if chance(30) { try FileManager.default.removeItem(atPath: path(lane, random.number(below: 2))) }
    }

    func path(_ lane: Int, _ process: Int) -> String {
        let path = "\(directory.path)/lane-\(lane)-\(process)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}
