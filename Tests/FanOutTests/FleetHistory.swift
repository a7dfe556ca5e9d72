import FanOut
import Foundation
import Identifiers
import ProcessTesting
import Sends
import Simulation

/// A random history of phones, a planner and lanes: sends, cancels, late tokens, crashes, lanes that move,
/// and pages of any size, in any order. A separate account without versions checks the result.
final class FleetHistory {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    let lanes = 2
    let planner: Planner
    var random: SeededGenerator
    let directory: TemporaryDirectory
    var rows = Rows()
    var topics: [VirtualLane]
    var owners: [LaneOwner?]
    var phones: [Phone]
    var held: [Plan.HeldSend] = []
    /// Jobs that wait for their sender, in any order.
    var waiting: [Job] = []
    var sent: [Send] = []
    var account = FleetAccount()
    var now: Int64 = 0
    var tokens = 0
    var activities = 0
    var sends = 0
    private(set) var steps = 0
    /// The subscriptions of the lanes, in order.
    var subscriptions: [Subscription] = []
    /// The random source for the time of the answers, independent of all other events.
    var patience: SeededGenerator
    /// Whether some phones do not report the group of a started activity. Then only one group can be started.
    let isSilent: Bool
    /// The number of starts per generation of a scope and installation.
    var starts: [String: Int] = [:]
    /// The restarts per generation of a scope and installation.
    var restarts: [String: Set<String>] = [:]
    /// The version of the END that each token got.
    var ends: [String: Int64] = [:]
    var closed: [String: Int] = [:]
    var expected: [String: Int] = [:]

    /// The additional kinds of events, and their random source. It is separate so that a seed gives the same
    /// history otherwise.
    let happenings: Happenings
    var fate: SeededGenerator

    /// - Parameter happenings: The additional kinds of events. Nil chooses some by the seed.
    init(seed: UInt64, happenings: Happenings? = nil) throws {
        fate = SeededGenerator(seed: seed &+ 2)
        let some = Happenings(rawValue: fate.number(below: Happenings.all.rawValue + 1))
        self.happenings = happenings ?? some
        random = SeededGenerator(seed: seed)
        patience = SeededGenerator(seed: seed &+ 1)
        isSilent = random.number(below: 2) == 0
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

    var stamp: Int64 { (dawn + now) * 1000 }
    func lane(of user: String) -> Int { (user.utf8.count + 2) % lanes }
    func chance(_ percent: Int) -> Bool { random.number(below: 100) < percent }

    // MARK: Steps

    func live(steps count: Int) throws {
        for index in phones.indices where chance(80) { reportStart(index) }
        for _ in 0..<count { try step() }
        try settle()
        try check()
        if happenings.contains(.safetyEnds) { try passTheDay() }
        try beginAnew()
        for owner in owners { try owner?.close() }
    }

    func step() throws {
        steps += 1
        if patience.number(below: 100) < 30 { try answer() }
        if happenings.contains(.ownActivities), fate.number(below: 100) < 3 { beginByItself() }
        if happenings.contains(.namedActivities), fate.number(below: 100) < 6 { try sendByName() }
        switch random.number(below: 100) {
        case 0..<18: try send()
        case 18..<22: try cancel()
        case 22..<62: try turn(random.number(below: lanes))
        case 62..<74: try deliver()
        case 74..<90: report()
        case 90..<96: try goOn(Int64(random.number(below: 4)))
        default: try move(random.number(below: lanes))
        }
    }

    func goOn(_ seconds: Int64) throws {
        now += seconds
        let due = held.filter { $0.at <= dawn + now }
        held.removeAll { $0.at <= dawn + now }
        for one in due {
            try take(try planner.release(one.key, now: dawn + now, in: &rows))
        }
    }

    /// Stops the lane's owner. The next step makes another owner.
    func move(_ lane: Int) throws {
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
