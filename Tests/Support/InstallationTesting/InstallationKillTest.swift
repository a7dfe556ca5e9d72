internal import Foundation
internal import IngestTesting
internal import ProcessTesting
internal import SenderTesting
internal import Simulation
internal import Telemetry
internal import TokenSealing

/// A match on a complete fleet whose processes are killed, frozen, stopped, added, and given wrong clocks,
/// from the first report to the end. An independent verdict must find all guarantees kept. It uses only the
/// Kafka topics, the records of the simulated APNs, the screens of phones, and the answers to another
/// customer.
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
        package var frozenMilliseconds = 13_000
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

    /// A fault with a duration, and the action that ends it.
    private struct OngoingFault {
        /// The affected process. It gets no other fault in the meantime.
        var member: FleetMember?
        let until: Int64
        let end: () async throws -> Void
    }

    private static let clockErrorSeconds: [Int64] = [3_600, -3_600, 172_800, -172_800]
    private static let completionSecondsMax = 180.0
    /// The interval at which phones with an unknown start are counted.
    private static let unknownStartCountSeconds = 15.0

    private let plan: Plan
    private let fleet: Fleet
    private let backend: FleetBackend
    private let match: FleetMatch
    private let secret: String
    private var random: SeededGenerator
    private var remainingFaults: [Fault] = []
    private var ongoingFaults: [OngoingFault] = []
    private var nextFaultAt: Int64 = 0
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
        for stage in fleetPlan.stages {
            remainingFaults += [.kill(stage), .freeze(stage), .stop(stage), .add(stage)]
            remainingFaults += Self.clockErrorSeconds.map { .wrongClock(stage, aheadSeconds: $0) }
        }
        remainingFaults += [.rebuild(.ingest), .rebuild(.fanOut), .rebuild(.scheduler), .rejectPushes]
        if fleet.broker != nil { remainingFaults.append(.killBroker) }
        let wrongFromStart = Self.clockErrorSeconds.map {
            Fault.wrongClock(.sender, aheadSeconds: $0, isFromItsStart: true)
        }
        remainingFaults += wrongFromStart
        if plan.hasOnlySenderClockFaults {
            remainingFaults =
                wrongFromStart + Self.clockErrorSeconds.map { .wrongClock(.sender, aheadSeconds: $0) }
        }
        remainingFaults.shuffle(using: &random)
        if let most = plan.faultsMax { remainingFaults = Array(remainingFaults.prefix(most)) }
    }

    package func run() async throws -> InstallationCheck {
        defer { try? fleet.writeLogs() }
        nextFaultAt = WallTime.now().milliseconds
        try await match.wait(for: plan.phones, in: match.startBody(isDryRun: true), meanwhile: advance)
        acceptedSends.append(try await match.send(match.startBody(), named: "start", meanwhile: advance))
        for goals in 1...plan.updates {
            let until = WallTime.now().milliseconds + 1_000
            acceptedSends.append(
                try await match.send(
                    match.updateBody(goals: goals), named: "update-\(goals)", meanwhile: advance))
            while WallTime.now().milliseconds < until { try await advanceAndPause() }
        }
        while !remainingFaults.isEmpty || !ongoingFaults.isEmpty { try await advanceAndPause() }
        acceptedSends.append(
            try await match.send(match.updateBody(goals: plan.updates + 1), named: "last", meanwhile: advance)
        )
        try await waitUntilShown(goals: plan.updates + 1)
        acceptedSends.append(
            try await match.send(match.endBody(goals: plan.updates + 2), named: "end", meanwhile: advance))
        try await waitUntilShown(goals: plan.updates + 2)
        try await waitUntilSendsComplete()
        let replayed = try await InstallationReplay(fleet: fleet, backend: backend, group: match.group).run(
            after: acceptedSends)
        let view = try await InstallationOutsideView(
            of: fleet, by: backend, group: match.group, sends: acceptedSends)
        let peaks = fleet.members.filter(\.process.isRunning).map {
            ($0.name, peakMemoryMiB(of: $0.process.processID))
        }
        try await fleet.stop()
        return try InstallationCheck(
            fleet: fleet, view: view, secret: secret, permits: plan.permits, after: processFaults,
            peaks: peaks,
            replayed: replayed)
    }

    private func advanceAndPause() async throws {
        try await advance()
        try await Task.sleep(for: .milliseconds(20))
    }

    /// Waits until all phones show the state and no push is pending. Phones whose start has an unknown
    /// outcome may be missing.
    private func waitUntilShown(goals: Int) async throws {
        let limit = Date(timeIntervalSinceNow: Self.completionSecondsMax)
        var nextCount = Date(timeIntervalSinceNow: Self.unknownStartCountSeconds)
        var screens = ""
        while Date() < limit {
            try await advanceAndPause()
            screens = try await backend.screens(of: match.group)
            let found = screens.firstMatch(of: #/"activities":(\d+),"phonesWithSeveral":\d+,"states":1,/#)
            if let count = found.flatMap({ Int($0.1) }),
                screens.contains(#""contentState":\#(match.contentState(goals: goals)),"#)
            {
                if count == plan.phones { return }
                if Date() >= nextCount {
                    nextCount = Date(timeIntervalSinceNow: Self.unknownStartCountSeconds)
                    if try count >= plan.phones - unknownStartCount() { return }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        let logs = fleet.members.filter { !$0.isRetired }.map {
            "\($0.name): \($0.process.errors.suffix(1_500))"
        }
        throw KillTestFailure(
            "phones do not show \(match.contentState(goals: goals)): \(screens)\n\(logs.joined(separator: "\n"))"
        )
    }

    private func unknownStartCount() throws -> Int {
        try SenderCheck(
            on: fleet.bed, records: fleet.recordsPath, permits: plan.permits, after: processFaults,
            sealingKeys: fleet.sealingKeysPath.map { try SealingKeys(file: $0) }
        ).unknownStarts
    }

    private func waitUntilSendsComplete() async throws {
        let limit = Date(timeIntervalSinceNow: Self.completionSecondsMax)
        for send in acceptedSends {
            while try await backend.progress(of: send, key: fleet.mainApp.readKey)?.isComplete != true {
                guard Date() < limit else {
                    throw KillTestFailure("the send \(send.id) does not become complete")
                }
                try await advanceAndPause()
            }
        }
    }

    // MARK: Faults

    /// Does the background work: starts the next fault, ends faults, and restarts processes that exited.
    private func advance() async throws {
        let now = WallTime.now().milliseconds
        for ended in ongoingFaults where ended.until <= now { try await ended.end() }
        ongoingFaults.removeAll { $0.until <= now }
        for member in fleet.members { try await member.restartIfExited() }
        guard now >= nextFaultAt, let act = remainingFaults.popLast() else { return }
        try await inject(act)
        nextFaultAt = WallTime.now().milliseconds + Int64(plan.faultIntervalMilliseconds)
    }

    /// Returns a process of the stage without a present fault.
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
            try await faultlessMember(of: stage)?.kill()
            recordFault(.kill, of: stage, from: now)
        case .freeze(let stage):
            guard let member = faultlessMember(of: stage) else { return }
            member.freeze()
            recordFault(.freeze, of: stage, from: now, until: now + Int64(plan.frozenMilliseconds))
            ongoingFaults.append(
                OngoingFault(member: member, until: now + Int64(plan.frozenMilliseconds)) { member.resume() })
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
                try await member.kill()
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

    /// Notes a fault of a sender. The verdict on senders needs no others.
    private func recordFault(
        _ kind: SenderKillTest.ProcessFault.Kind, of stage: FleetPlan.Stage, from: Int64, until: Int64? = nil
    ) {
        guard stage == .sender else { return }
        processFaults.append(
            SenderKillTest.ProcessFault(kind: kind, from: from, until: until ?? WallTime.now().milliseconds))
    }
}
