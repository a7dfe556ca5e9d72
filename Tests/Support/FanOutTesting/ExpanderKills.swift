package import FanOut
package import IngestTesting
internal import LiveActivity
internal import Simulation
internal import Topics

/// A test that kills two processes of the expander repeatedly while sends expand. It kills them at every
/// numbered step and at random moments. It also freezes them beyond their session, so that they wake as
/// zombies, and stops them in order. At the end each token must have exactly one job of each send. No crash
/// may have cost more work than one page.
package final class ExpanderKills: KillScene {
    package struct Plan: KillPlan {
        package var phones = 3000
        /// The number of kills at each step.
        package var rounds = 1
        package var steps = ExpanderStep.allCases
        package var randomKills = 3
        package var freezes = 1
        package var frozenSteps: [ExpanderStep] = [.pagesWalked, .transactionBegun, .jobsSent, .offsetsSent]
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Result: Sendable {
        package var kills = 0
        package var stepsMet: Set<ExpanderStep> = []
        package var sends = 0
        package var jobs = 0
        /// Jobs that were written again because their transaction was not committed.
        package var redone = 0
        /// The fault, or nil if everything is right.
        package var fault: String?
    }

    /// The tokens that a send has to reach.
    private enum Reach {
        case starts
        case updates
        /// The one token with this number.
        case one(Int)
    }

    /// The most open sends to all phones. At this limit only sends to one phone are added.
    private static let openMax = 3
    private static let singles = 50

    private let plan: Plan
    private let bed: IngestBed
    private let pair: KilledPair<Plan>
    private let world: ExpanderBed
    private var chance: SeededGenerator
    private var reaches: [String: Reach] = [:]
    private var result = Result()

    package init(_ plan: Plan, program: String, bed: IngestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        pair = KilledPair(plan, .expander, of: program, on: bed, directory: directory)
        world = try ExpanderBed(bed)
        chance = SeededGenerator(plan.seed)
    }

    package func run() async throws -> Result {
        for number in 0..<plan.phones {
            world.report("p\(number)", .start(type: "Match"))
            world.report("p\(number)", .update(activity: "a\(number)"), group: "match")
        }
        guard world.finish() else { throw KillFault("the registry was not stored") }
        try await pair.run(self)
        (result.kills, result.stepsMet) = (pair.kills, pair.stepsMet)
        try judge()
        return result
    }

    package var firstRareStep: ExpanderStep { .viewWritten }
    package var settleSeconds: Int { 300 }

    package func work(_ moment: KillMoment) {
        guard case .awaitsStep(let round) = moment else { return send() }
        if round % 10 == 0 { send() }
        // A phone of a group that has no send.
        world.report("late-\(round)", .update(activity: "late-\(round)"), group: "unknown")
    }

    package func finish() -> Bool { world.finish() }

    package func isSettled() -> Bool { world.isDone() }

    /// The numbers of a phone's two tokens, in the order of their reports.
    private static func token(ofStart phone: Int) -> Int { 2 * phone + 1 }
    private static func token(ofUpdate phone: Int) -> Int { 2 * phone + 2 }

    /// Sends a start of a new group, an update of the common group, or an update for one phone.
    private func send() {
        let number = reaches.count + 1
        let isBusy = (world.closingsLeft() ?? .max) >= Self.openMax * bed.layout.lanes
        let version = 1_763_600_000 + Int64(number)
        let send = "s\(number)"
        var expansion: Expansion
        switch isBusy ? 2 : chance.below(3) {
        case 0:
            expansion = ExpanderBed.expansion(
                .start, of: "group-\(number)", send: send, version: version, generation: version)
            reaches[send] = .starts
        case 1:
            expansion = ExpanderBed.expansion(.update, of: "match", send: send, version: version)
            reaches[send] = .updates
        default:
            let one = chance.below(Self.singles)
            expansion = ExpanderBed.expansion(
                .update, of: "match", send: send, version: version, to: "p\(one)")
            reaches[send] = .one(Self.token(ofUpdate: one))
        }
        // Without conflation each send must reach all its tokens, even if a newer send exists.
        expansion.isConflatable = false
        world.expand(expansion)
        result.sends += 1
    }

    private func judge() throws {
        var found: [String: [UInt8]] = [:]
        var strange: Set<String> = []
        let tokens = 2 * plan.phones
        try ExpanderBed.eachSheet(in: bed) { head, sheet, _ in
            if reaches[head.send] == nil { strange.insert(head.send) }
            sheet.forEachJob { _, job in
                result.jobs += 1
                guard let number = NumberedToken.number(job.token), number <= tokens else {
                    strange.insert(head.send)
                    return
                }
                found[head.send, default: [UInt8](repeating: 0, count: tokens + 1)][number] &+= 1
            }
        }
        for (send, reach) in reaches.sorted(by: { $0.key < $1.key }) {
            let jobs = found[send] ?? [UInt8](repeating: 0, count: tokens + 1)
            var (doubled, missing, wrong) = (0, 0, 0)
            for number in jobs.indices {
                let isWanted =
                    switch reach {
                    case .starts: number > 0 && number % 2 == 1
                    case .updates: number > 0 && number % 2 == 0
                    case .one(let token): number == token
                    }
                if isWanted, jobs[number] == 0 { missing += 1 }
                if isWanted, jobs[number] > 1 { doubled += 1 }
                if !isWanted, jobs[number] > 0 { wrong += 1 }
            }
            if doubled + missing + wrong > 0 {
                result.fault =
                    "\(send): \(missing) jobs are missing, \(doubled) are duplicated, \(wrong) are wrong"
                return
            }
            let lanes = try ExpanderBed.tallies(of: send, in: bed).count
            let all = if case .one = reach { 1 } else { bed.layout.lanes }
            if lanes != all { result.fault = "\(send): \(lanes) lanes closed it, not \(all)" }
        }
        if !strange.isEmpty {
            result.fault = "jobs of unknown sends: \(strange.sorted().prefix(3))"
        }
        try judgeRedone()
    }

    /// Checks the repeated work. Each crash and each zombie leaves at most one uncommitted transaction
    /// behind.
    private func judgeRedone() throws {
        var written = 0
        try ExpanderBed.eachSheet(in: bed, withAborted: true) { _, sheet, _ in written += sheet.count }
        result.redone = written - result.jobs
        let deaths = result.kills + plan.freezes
        let most = deaths * (AdaptivePageSize.rowsMin + bed.layout.lanes)
        if result.redone > most, result.fault == nil {
            result.fault = "\(result.redone) jobs were written again after \(deaths) deaths, \(most) at most"
        }
    }
}
