package import FanOut
package import IngestTesting
internal import InstallationRecords
internal import Jobs
internal import Payloads
internal import Sends
internal import Simulation
internal import Topics

/// A kill test with two processes of the expander while sends expand (`KillTestRunner`). At the end each token that a
/// send has to reach must have exactly one job of it. No crash may have repeated more work than one page.
package final class ExpanderKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var phones = 3000
        /// The number of kills at each step.
        package var killsPerStep = 1
        package var steps = ExpanderStep.allCases
        package var randomKills = 3
        package var freezeCount = 1
        package var frozenSteps: [ExpanderStep] = [.pagesWalked, .transactionBegun, .jobsSent, .offsetsSent]
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        /// The steps at which a process died.
        package var reachedSteps: Set<ExpanderStep> = []
        package var sends = 0
        package var jobs = 0
        /// Jobs that were written again because their transaction was not committed.
        package var rewrittenJobs = 0
        /// The first fault, or nil if everything is right.
        package var fault: String?
    }

    /// The most tokens of a transaction of the worker.
    package static let pageRowsMax = 500

    /// The tokens that a send has to reach.
    private enum ExpectedTokens {
        case startTokens
        case updateTokens
        /// The one token with this number.
        case single(Int)
    }

    /// The largest number of open sends to all phones. At this limit only sends to one phone are added.
    private static let openSendsMax = 3
    /// The sends to one phone are for this many phones, the first ones.
    private static let individualPhones = 50
    /// One in this many rounds before a step gets a new send.
    private static let roundsPerSend = 10

    private let plan: Plan
    private let bed: TestBed
    private let runner: KillTestRunner<Plan>
    private let expander: ExpanderTestBed
    private var random: SeededGenerator
    /// The tokens that each send has to reach, by the send's id.
    private var expectedTokens: [String: ExpectedTokens] = [:]
    private var result = Result()

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        self.plan = plan
        self.bed = bed
        runner = KillTestRunner(
            plan: plan, worker: .expander, program: program, bed: bed, directory: directory)
        expander = try ExpanderTestBed(on: bed)
        random = SeededGenerator(seed: plan.seed)
    }

    package func run() async throws -> Result {
        for number in 0..<plan.phones {
            expander.writeToken(of: "p\(number)", entry: .start(type: "Match"))
            expander.writeToken(of: "p\(number)", entry: .update(activity: "a\(number)"), group: "match")
        }
        guard expander.finish() else { throw KillTestFailure("the registry was not stored") }
        try await runner.run(self)
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        try check()
        return result
    }

    package var firstRareStep: ExpanderStep { .viewWritten }
    package var settleSecondsMax: Int { 300 }

    package func work(at moment: KillTestMoment) {
        guard case .beforeStep(let round) = moment else { return writeExpansion() }
        if round % Self.roundsPerSend == 0 { writeExpansion() }
        // A change of the registry in a group that has no send.
        expander.writeToken(of: "late-\(round)", entry: .update(activity: "late-\(round)"), group: "unknown")
    }

    package func finish() -> Bool { expander.finish() }

    package func isSettled() -> Bool { expander.isEverythingClosed() }

    // The numbers of a phone's two tokens, by the order in which `run` writes them. Start tokens have odd numbers.
    private static func tokenNumber(ofStart phone: Int) -> Int { 2 * phone + 1 }
    private static func tokenNumber(ofUpdate phone: Int) -> Int { 2 * phone + 2 }

    private enum Kind: CaseIterable { case start, updateOfAll, updateOfOnePhone }

    /// Sends a start of a new group, an update of the common group, or an update for one phone.
    private func writeExpansion() {
        let number = expectedTokens.count + 1
        let isBusy = expander.missingClosings() >= Self.openSendsMax * bed.layout.lanes
        let version = ExpanderTestBed.firstVersion + Int64(number)
        let send = "s\(number)"
        var expansion: Expansion
        // While many sends are open, only updates for one phone are added.
        let kind: Kind = isBusy ? .updateOfOnePhone : Kind.allCases[random.number(below: Kind.allCases.count)]
        switch kind {
        case .start:
            expansion = ExpanderTestBed.makeExpansion(
                of: .start, group: "group-\(number)", send: send, version: version, generation: version)
            expectedTokens[send] = .startTokens
        case .updateOfAll:
            expansion = ExpanderTestBed.makeExpansion(
                of: .update, group: "match", send: send, version: version)
            expectedTokens[send] = .updateTokens
        case .updateOfOnePhone:
            let phone = random.number(below: Self.individualPhones)
            expansion = ExpanderTestBed.makeExpansion(
                of: .update, group: "match", send: send, version: version, recipient: "p\(phone)")
            expectedTokens[send] = .single(Self.tokenNumber(ofUpdate: phone))
        }
        // Without conflation each send must reach all its tokens, even if a newer send exists.
        expansion.isConflatable = false
        expander.write(expansion)
        result.sends += 1
    }

    /// Checks the committed jobs, the tallies and the repeated work.
    private func check() throws {
        // The number of jobs by send, then by the number of the token. No token has the number 0.
        var jobCounts: [String: [UInt8]] = [:]
        var unknownSends: Set<String> = []
        let tokenCount = 2 * plan.phones
        let noJobs = [UInt8](repeating: 0, count: tokenCount + 1)
        try ExpanderTestBed.forEachSheet(in: bed) { head, sheet, _ in
            if expectedTokens[head.send] == nil { unknownSends.insert(head.send) }
            sheet.forEachJob { _, job in
                result.jobs += 1
                guard let number = NumberedToken.number(ofToken: job.token), number <= tokenCount else {
                    unknownSends.insert(head.send)
                    return
                }
                jobCounts[head.send, default: noJobs][number] &+= 1
            }
        }
        for (send, expected) in expectedTokens.sorted(by: { $0.key < $1.key }) {
            if let fault = Self.fault(inJobCounts: jobCounts[send] ?? noJobs, expected: expected) {
                result.fault = "\(send): \(fault)"
                return
            }
            let lanes = try ExpanderTestBed.tallies(of: send, in: bed).count
            let expectedLanes = if case .single = expected { 1 } else { bed.layout.lanes }
            if lanes != expectedLanes {
                result.fault = "\(send): \(lanes) lanes closed it, not \(expectedLanes)"
            }
        }
        if !unknownSends.isEmpty {
            result.fault = "jobs of unknown sends: \(unknownSends.sorted().prefix(3))"
        }
        try checkRewrittenJobs()
    }

    /// Returns the difference of a send's jobs to the tokens that it has to reach.
    private static func fault(inJobCounts jobCounts: [UInt8], expected: ExpectedTokens) -> String? {
        var (duplicated, missing, wrong) = (0, 0, 0)
        for number in jobCounts.indices {
            let isExpected =
                switch expected {
                case .startTokens: number > 0 && number % 2 == 1
                case .updateTokens: number > 0 && number % 2 == 0
                case .single(let token): number == token
                }
            if isExpected, jobCounts[number] == 0 { missing += 1 }
            if isExpected, jobCounts[number] > 1 { duplicated += 1 }
            if !isExpected, jobCounts[number] > 0 { wrong += 1 }
        }
        if duplicated + missing + wrong == 0 { return nil }
        return "\(missing) jobs are missing, \(duplicated) are duplicated, \(wrong) are wrong"
    }

    /// Checks the repeated work. Each killed process and each frozen one leaves at most one uncommitted transaction
    /// behind.
    private func checkRewrittenJobs() throws {
        var writtenJobs = 0
        try ExpanderTestBed.forEachSheet(in: bed, withAborted: true) { _, sheet, _ in
            writtenJobs += sheet.count
        }
        result.rewrittenJobs = writtenJobs - result.jobs
        let deaths = result.killCount + plan.freezeCount
        let rewrittenJobsMax = deaths * (Self.pageRowsMax + bed.layout.lanes)
        if result.rewrittenJobs > rewrittenJobsMax, result.fault == nil {
            result.fault =
                "\(result.rewrittenJobs) jobs were written again after \(deaths) deaths, "
                + "at most \(rewrittenJobsMax) are allowed"
        }
    }
}
