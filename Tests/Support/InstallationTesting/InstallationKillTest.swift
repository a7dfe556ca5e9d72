internal import Foundation
internal import IngestTesting
internal import Kafka
internal import ProcessTesting
internal import SenderTesting
internal import Simulation
internal import Telemetry
internal import TokenSealing

/// A kill test of a complete fleet. While a match is played, from the first report to the end, processes are killed,
/// frozen, stopped and added, rebuild their state, and get wrong clocks. Then `InstallationCheck` must find all
/// guarantees kept.
///
/// One task does everything. Whenever it waits for the match, it calls `advance`, which starts and ends faults.
package final class InstallationKillTest {
    package struct Plan: Sendable {
        package var processesPerStage = 3
        package var phones = 100_000
        package var updates = 60
        /// A small number, so that a kill can duplicate only a few pushes.
        package var permits = 500
        /// The time between two faults.
        package var faultIntervalMilliseconds = 1_500
        /// The duration of a freeze. It is longer than a Kafka session, so that the frozen process wakes as a
        /// zombie.
        package var frozenMilliseconds = ConsumerOptions.sessionMillisecondsDefault + 3_000
        /// The duration of a wrong clock, and of the time in which APNs rejects all pushes.
        package var wrongClockMilliseconds = 5_000
        /// The number of faults, chosen by the seed, or nil for all of them.
        package var faultsMax: Int?
        /// Whether the only faults are wrong clocks of senders.
        package var hasOnlySenderClockFaults = false
        package var seed: UInt64 = 1

        package init() {}
    }

    enum Fault {
        case kill(FleetPlan.Stage)
        case freeze(FleetPlan.Stage)
        case stop(FleetPlan.Stage)
        case add(FleetPlan.Stage)
        /// Rebuilds the state of a process from its topics.
        case rebuild(FleetPlan.Stage)
        /// Sets a wrong clock on a running process, or restarts the process with it.
        case wrongClock(FleetPlan.Stage, aheadSeconds: Int64, isFromItsStart: Bool = false)
        case killBroker
        /// APNs rejects every push, as with a wrong key.
        case rejectPushes
    }

    /// A fault that lasts for a time.
    private struct OngoingFault {
        /// The affected process, which gets no other fault in the meantime. Nil if the fault affects APNs.
        var member: FleetMember?
        /// In milliseconds since 1970.
        let until: Int64
        /// Ends the fault.
        let end: () async throws -> Void
    }

    /// An hour and two days, ahead and behind.
    private static let clockErrorSeconds: [Int64] = [3_600, -3_600, 172_800, -172_800]
    /// The limit of each wait for the phones, and of the wait for the progress of all sends.
    private static let completionSecondsMax = 180.0
    /// The limit of the wait for the final receipts of all jobs, after their last progress. Jobs wait for at most two
    /// minutes in a tier, and the tier's reading begins anew when a lane gets another owner.
    private static let receiptSecondsMax = 180.0
    /// The interval at which open jobs are counted, because a count reads whole topics.
    private static let openJobCountSeconds = 2.0
    /// The interval at which phones with an unknown start are counted, because a count reads whole topics.
    private static let unknownStartCountSeconds = 15.0
    private static let updateIntervalMilliseconds: Int64 = 1_000
    /// The characters at the end of each process's log that a failure has.
    private static let logCharactersMax = 6_000

    private let plan: Plan
    private let fleet: Fleet
    private let backend: FleetBackend
    private let match: FleetMatch
    /// A word in everything that phones show.
    private let secret: String
    private var random: SeededGenerator
    private var remainingFaults: [Fault] = []
    private var ongoingFaults: [OngoingFault] = []
    /// In milliseconds since 1970.
    private var nextFaultAt: Int64 = 0
    /// The faults of senders so far, for `SenderCheck`.
    private var processFaults: [SenderKillTest.ProcessFault] = []
    private var acceptedSends: [FleetBackend.AcceptedSend] = []

    /// - Parameters:
    ///   - programs: The directory with `flotilla` and `libWrongClock.so`.
    ///   - brokers: A running cluster that is not killed, or nil for a separate broker that is killed.
    package init(plan: Plan, programs: String, brokers: [String]?, directory: String) async throws {
        self.plan = plan
        random = SeededGenerator(seed: plan.seed)
        var fleetPlan = FleetPlan()
        fleetPlan.processesPerStage = plan.processesPerStage
        fleetPlan.phones = plan.phones
        fleetPlan.brokers = brokers
        fleetPlan.isSealed = true
        fleetPlan.permits = plan.permits
        fleetPlan.wrongClock = "\(programs)/libWrongClock.so"
        let canary = "canary\(plan.seed)"
        secret = "secret-\(canary)"
        fleet = try await Fleet(plan: fleetPlan, programs: programs, directory: directory, canary: canary)
        backend = FleetBackend(fleet: fleet)
        match = FleetMatch(group: "match-\(canary)", fleet: fleet, backend: backend, secret: secret)
        remainingFaults =
            plan.hasOnlySenderClockFaults
            ? Self.senderClockFaults()
            : Self.allFaults(of: fleetPlan.stages, withBroker: fleet.broker != nil)
        remainingFaults.shuffle(using: &random)
        if let faultsMax = plan.faultsMax { remainingFaults = Array(remainingFaults.prefix(faultsMax)) }
    }

    /// - Parameter withBroker: Whether the fleet has a broker that can be killed.
    private static func allFaults(of stages: [FleetPlan.Stage], withBroker: Bool) -> [Fault] {
        var faults: [Fault] = []
        for stage in stages {
            faults += [.kill(stage), .freeze(stage), .stop(stage), .add(stage)]
            faults += clockErrorSeconds.map { .wrongClock(stage, aheadSeconds: $0) }
        }
        faults += [.rebuild(.ingest), .rebuild(.fanOut), .rebuild(.scheduler), .rejectPushes]
        if withBroker { faults.append(.killBroker) }
        return faults + senderClockFaultsFromStart()
    }

    private static func senderClockFaults() -> [Fault] {
        senderClockFaultsFromStart() + clockErrorSeconds.map { .wrongClock(.sender, aheadSeconds: $0) }
    }

    private static func senderClockFaultsFromStart() -> [Fault] {
        clockErrorSeconds.map { .wrongClock(.sender, aheadSeconds: $0, isFromItsStart: true) }
    }

    package func run() async throws -> InstallationCheck {
        defer { try? fleet.writeLogs() }
        try await playMatch()
        let replayFaults = try await InstallationReplay(fleet: fleet, backend: backend, group: match.group)
            .run(after: acceptedSends)
        let view = try await InstallationOutsideView(
            of: fleet, by: backend, group: match.group, sends: acceptedSends)
        let peaks = fleet.members.filter(\.process.isRunning).map {
            ($0.name, peakMemoryMiB(of: $0.process.processID))
        }
        try await fleet.stop()
        return try InstallationCheck(
            fleet: fleet, view: view, secret: secret, permits: plan.permits, after: processFaults,
            peaks: peaks, replayed: replayFaults)
    }

    // MARK: The match

    /// Plays the match from its start to its end, during all faults, and waits until its sends are complete.
    private func playMatch() async throws {
        nextFaultAt = WallTime.now().milliseconds
        try await match.waitUntilFound(
            phones: plan.phones, byDryRun: match.startBody(isDryRun: true), meanwhile: advance)
        try await send(match.startBody(), named: "start")
        for goals in 1...plan.updates {
            let nextUpdateAt = WallTime.now().milliseconds + Self.updateIntervalMilliseconds
            try await send(match.updateBody(goals: goals), named: "update-\(goals)")
            while WallTime.now().milliseconds < nextUpdateAt { try await advanceAndPause() }
        }
        while !remainingFaults.isEmpty || !ongoingFaults.isEmpty { try await advanceAndPause() }
        try await send(match.updateBody(goals: plan.updates + 1), named: "last")
        try await waitUntilShown(goals: plan.updates + 1)
        try await send(match.endBody(goals: plan.updates + 2), named: "end")
        try await waitUntilShown(goals: plan.updates + 2)
        try await waitUntilSendsComplete()
        try await waitUntilJobsEnd()
    }

    private func send(_ body: String, named name: String) async throws {
        acceptedSends.append(try await match.send(body, named: name, meanwhile: advance))
    }

    private func advanceAndPause() async throws {
        try await advance()
        try await Task.sleep(for: .milliseconds(20))
    }

    /// Waits until all phones show the state and no push is pending. Phones whose start has an unknown
    /// outcome may be missing.
    private func waitUntilShown(goals: Int) async throws {
        var deadline = PollingDeadline(seconds: Self.completionSecondsMax)
        var nextUnknownStartCount = Date(timeIntervalSinceNow: Self.unknownStartCountSeconds)
        var screens = ""
        while !deadline.hasPassed() {
            try await advanceAndPause()
            screens = try await backend.screens(of: match.group)
            let summary = screens.firstMatch(of: #/"activities":(\d+),"phonesWithSeveral":\d+,"states":1,/#)
            if let activities = summary.flatMap({ Int($0.1) }),
                screens.contains(#""contentState":\#(match.contentState(goals: goals)),"#)
            {
                if activities == plan.phones { return }
                if Date() >= nextUnknownStartCount {
                    nextUnknownStartCount = Date(timeIntervalSinceNow: Self.unknownStartCountSeconds)
                    if try activities >= plan.phones - unknownStartCount() { return }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        let contentState = match.contentState(goals: goals)
        let trail = await PhoneTrail(to: contentState, on: fleet, by: backend).text()
        let logs = fleet.members.map {
            "\($0.name): \($0.logs.joined(separator: "\n").suffix(Self.logCharactersMax))"
        }
        throw KillTestFailure(
            "phones do not show \(contentState): \(screens)\n\(trail)\n\(logs.joined(separator: "\n"))")
    }

    /// Returns the number of starts whose outcome is unknown, because a sender died before APNs answered.
    private func unknownStartCount() throws -> Int { try presentCheck().unknownStarts }

    /// Checks the jobs as they are now.
    private func presentCheck() throws -> SenderCheck {
        try SenderCheck(
            on: fleet.bed, records: fleet.recordsPath, permits: plan.permits, after: processFaults,
            sealingKeys: fleet.sealingKeysPath.map { try SealingKeys(file: $0) })
    }

    /// Waits until every job has its final receipt. A send is complete when all its jobs are written, and a replaced
    /// job may still wait in a tier when its phone already shows a newer state. If jobs stay open, the check at the end
    /// names them.
    private func waitUntilJobsEnd() async throws {
        var deadline = PollingDeadline(seconds: Self.receiptSecondsMax)
        var fewestOpenJobs = Int.max
        while true {
            let openJobs = try presentCheck().lost
            if openJobs == 0 || deadline.hasPassed() { return }
            if openJobs < fewestOpenJobs { deadline.restart() }
            fewestOpenJobs = min(fewestOpenJobs, openJobs)
            let nextCount = Date(timeIntervalSinceNow: Self.openJobCountSeconds)
            while Date() < nextCount { try await advanceAndPause() }
        }
    }

    private func waitUntilSendsComplete() async throws {
        var deadline = PollingDeadline(seconds: Self.completionSecondsMax)
        for send in acceptedSends {
            while try await backend.progress(of: send, key: fleet.mainApp.readKey)?.isComplete != true {
                guard !deadline.hasPassed() else {
                    throw KillTestFailure("the send \(send.id) does not become complete")
                }
                try await advanceAndPause()
            }
        }
    }

    // MARK: Faults

    /// Does the background work: ends faults, restarts processes that exited, and starts the next fault if it is due.
    private func advance() async throws {
        let now = WallTime.now().milliseconds
        for fault in ongoingFaults where fault.until <= now { try await fault.end() }
        ongoingFaults.removeAll { $0.until <= now }
        for member in fleet.members { try await member.restartIfExited() }
        guard now >= nextFaultAt, let fault = remainingFaults.popLast() else { return }
        try await inject(fault)
        nextFaultAt = WallTime.now().milliseconds + Int64(plan.faultIntervalMilliseconds)
    }

    /// Returns a random process of the stage that is not retired and has no ongoing fault.
    private func faultlessMember(of stage: FleetPlan.Stage) -> FleetMember? {
        let candidates = fleet.members.filter { member in
            member.stage == stage && !member.isRetired && !ongoingFaults.contains { $0.member === member }
        }
        return candidates.isEmpty ? nil : candidates[random.number(below: candidates.count)]
    }

    private func inject(_ fault: Fault) async throws {
        let now = WallTime.now().milliseconds
        switch fault {
        case .kill(let stage):
            try await faultlessMember(of: stage)?.killAndRestart()
            recordFault(.kill, of: stage, from: now)
        case .freeze(let stage):
            guard let member = faultlessMember(of: stage) else { return }
            member.freeze()
            let until = now + Int64(plan.frozenMilliseconds)
            recordFault(.freeze, of: stage, from: now, until: until)
            ongoingFaults.append(OngoingFault(member: member, until: until) { member.resume() })
        case .stop(let stage):
            try await faultlessMember(of: stage)?.restart()
            recordFault(.stop, of: stage, from: now)
        case .add(let stage): _ = try fleet.addProcess(of: stage)
        case .rebuild(let stage):
            if let member = faultlessMember(of: stage) { try await fleet.rebuildState(of: member) }
        case .wrongClock(let stage, let seconds, let isFromItsStart):
            guard let member = faultlessMember(of: stage), let clock = member.clock else { return }
            try clock.set(aheadSeconds: seconds)
            if isFromItsStart {
                try await member.killAndRestart()
                recordFault(.kill, of: stage, from: now)
            }
            ongoingFaults.append(
                OngoingFault(member: member, until: now + Int64(plan.wrongClockMilliseconds)) {
                    try clock.set(aheadSeconds: 0)
                })
        case .killBroker:
            try await fleet.broker?.kill()
            try await fleet.broker?.start()
        case .rejectPushes:
            _ = try await backend.callSimulator(
                method: "POST", path: "/v1/script",
                body: #"{"match":{},"answer":{"reason":"InvalidProviderToken"}}"#)
            let backend = backend
            ongoingFaults.append(
                OngoingFault(until: now + Int64(plan.wrongClockMilliseconds)) {
                    _ = try await backend.callSimulator(method: "DELETE", path: "/v1/script")
                })
        }
    }

    /// Records a fault of a sender for `SenderCheck`, which needs no others.
    ///
    /// - Parameter until: The end of the fault. Nil means now.
    private func recordFault(
        _ kind: SenderKillTest.ProcessFault.Kind, of stage: FleetPlan.Stage, from: Int64, until: Int64? = nil
    ) {
        guard stage == .sender else { return }
        processFaults.append(
            SenderKillTest.ProcessFault(kind: kind, from: from, until: until ?? WallTime.now().milliseconds))
    }
}
