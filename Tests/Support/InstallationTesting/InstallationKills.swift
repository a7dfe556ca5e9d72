internal import Foundation
internal import IngestTesting
internal import LiveActivity
internal import ProcessTesting
internal import SenderTesting
internal import Simulation
internal import Telemetry

/// A match on a complete fleet whose processes are killed, frozen, stopped, added, and given wrong clocks,
/// from the first report to the end. An independent verdict must find all guarantees kept. It uses only the
/// Kafka topics, the records of the simulated APNs, the screens of phones, and the answers to another
/// customer.
package final class InstallationKills {
    package struct Plan: Sendable {
        package var each = 3
        package var phones = 100_000
        package var updates = 60
        /// A small number, so that a kill can duplicate only a few pushes.
        package var permits = 500
        /// The time between two faults.
        package var paceMilliseconds = 1_500
        /// The duration of a freeze. It is longer than a Kafka session, so that the frozen process wakes as a
        /// zombie.
        package var frozenMilliseconds = 13_000
        package var wrongMilliseconds = 5_000
        /// The number of faults, chosen by the seed, or nil for all of them.
        package var faultsMax: Int?
        /// Whether the only faults are wrong clocks of senders.
        package var isOfSendersClocks = false
        package var seed: UInt64 = 1

        package init() {}
    }

    enum Act {
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
        case refuse
    }

    /// A fault with a duration, and the action that ends it.
    private struct Lasting {
        /// The affected process. It gets no other fault in the meantime.
        var member: FleetMember?
        let until: Int64
        let end: () async throws -> Void
    }

    private static let wrongSeconds: [Int64] = [3_600, -3_600, 172_800, -172_800]
    private static let endSecondsMax = 180.0
    /// The interval at which phones with an unknown start are counted.
    private static let unknownSeconds = 15.0

    private let plan: Plan
    private let fleet: Fleet
    private let backend: FleetBackend
    private let match: FleetMatch
    private let secret: String
    private var chance: SeededGenerator
    private var acts: [Act] = []
    private var lasting: [Lasting] = []
    private var nextActAt: Int64 = 0
    private var happenings: [SenderKills.Happening] = []
    private var accepted: [FleetBackend.Accepted] = []

    /// - Parameters:
    ///   - programs: The directory with `flotilla` and `libWrongClock.so`.
    ///   - brokers: A running cluster that is not killed, or nil for a separate broker that is killed.
    package init(_ plan: Plan, programs: String, brokers: [String]?, directory: String) async throws {
        self.plan = plan
        chance = SeededGenerator(plan.seed)
        var made = FleetPlan()
        made.each = plan.each
        made.phones = plan.phones
        made.brokers = brokers
        made.isSealed = true
        made.permits = plan.permits
        made.wrongClock = "\(programs)/libWrongClock.so"
        let canary = "canary\(plan.seed)"
        secret = "secret-\(canary)"
        fleet = try await Fleet(made, programs: programs, directory: directory, canary: canary)
        backend = FleetBackend(fleet)
        match = FleetMatch("match-\(canary)", of: fleet, by: backend, secret: secret)
        for stage in made.stages {
            acts += [.kill(stage), .freeze(stage), .stop(stage), .add(stage)]
            acts += Self.wrongSeconds.map { .wrongClock(stage, aheadSeconds: $0) }
        }
        acts += [.rebuild(.ingest), .rebuild(.fanOut), .rebuild(.scheduler), .refuse]
        if fleet.broker != nil { acts.append(.killBroker) }
        let fromTheirStart = Self.wrongSeconds.map {
            Act.wrongClock(.sender, aheadSeconds: $0, isFromItsStart: true)
        }
        acts += fromTheirStart
        if plan.isOfSendersClocks {
            acts = fromTheirStart + Self.wrongSeconds.map { .wrongClock(.sender, aheadSeconds: $0) }
        }
        acts.shuffle(using: &chance)
        if let most = plan.faultsMax { acts = Array(acts.prefix(most)) }
    }

    package func run() async throws -> InstallationVerdict {
        defer { try? fleet.writeLogs() }
        nextActAt = WallTime.now().milliseconds
        try await match.waits(for: plan.phones, in: match.start(isDryRun: true), meanwhile: live)
        accepted.append(try await match.send(match.start(), "start", meanwhile: live))
        for goals in 1...plan.updates {
            let until = WallTime.now().milliseconds + 1_000
            accepted.append(try await match.send(match.update(goals), "update-\(goals)", meanwhile: live))
            while WallTime.now().milliseconds < until { try await rest() }
        }
        while !acts.isEmpty || !lasting.isEmpty { try await rest() }
        accepted.append(try await match.send(match.update(plan.updates + 1), "last", meanwhile: live))
        try await settle(plan.updates + 1)
        accepted.append(try await match.send(match.end(plan.updates + 2), "end", meanwhile: live))
        try await settle(plan.updates + 2)
        try await sendsAreComplete()
        let replayed = try await InstallationReplay(fleet, backend, group: match.group).run(accepted)
        let seen = try await InstallationSeen(
            of: fleet, by: backend, group: match.group, sends: accepted)
        let peaks = fleet.members.filter(\.process.isRunning).map {
            ($0.name, peakMemoryMiB(of: $0.process.identifier))
        }
        try await fleet.stop()
        return try InstallationVerdict(
            fleet, seen, secret: secret, permits: plan.permits, after: happenings, peaks: peaks,
            replayed: replayed)
    }

    private func rest() async throws {
        try await live()
        try await Task.sleep(for: .milliseconds(20))
    }

    /// Waits until all phones show the state and no push is pending. Phones whose start has an unknown
    /// outcome may be missing.
    private func settle(_ goals: Int) async throws {
        let limit = Date(timeIntervalSinceNow: Self.endSecondsMax)
        var nextLook = Date(timeIntervalSinceNow: Self.unknownSeconds)
        var screens = ""
        while Date() < limit {
            try await rest()
            screens = try await backend.screens(of: match.group)
            let found = screens.firstMatch(of: #/"activities":(\d+),"phonesWithSeveral":\d+,"states":1,/#)
            if let count = found.flatMap({ Int($0.1) }),
                screens.contains(#""contentState":\#(match.state(goals)),"#)
            {
                if count == plan.phones { return }
                if Date() >= nextLook {
                    nextLook = Date(timeIntervalSinceNow: Self.unknownSeconds)
                    if try count >= plan.phones - startsUnknown() { return }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        let logs = fleet.members.filter { !$0.isRetired }.map {
            "\($0.name): \($0.process.errors.suffix(1_500))"
        }
        throw KillFault(
            "phones do not show \(match.state(goals)): \(screens)\n\(logs.joined(separator: "\n"))")
    }

    private func startsUnknown() throws -> Int {
        try SenderVerdict(
            fleet.bed, records: fleet.records, permits: plan.permits, after: happenings,
            sealingKeys: fleet.sealingKeys.map { try SealingKeys(file: $0) }
        ).startsUnknown
    }

    private func sendsAreComplete() async throws {
        let limit = Date(timeIntervalSinceNow: Self.endSecondsMax)
        for send in accepted {
            while try await backend.progress(of: send, key: fleet.shop.readKey)?.isComplete != true {
                guard Date() < limit else { throw KillFault("the send \(send.id) does not become complete") }
                try await rest()
            }
        }
    }

    // MARK: Faults

    /// Does the background work: starts the next fault, ends faults, and restarts processes that exited.
    private func live() async throws {
        let now = WallTime.now().milliseconds
        for ended in lasting where ended.until <= now { try await ended.end() }
        lasting.removeAll { $0.until <= now }
        for member in fleet.members { try await member.revive() }
        guard now >= nextActAt, let act = acts.popLast() else { return }
        try await play(act)
        nextActAt = WallTime.now().milliseconds + Int64(plan.paceMilliseconds)
    }

    /// Returns a process of the stage without a present fault.
    private func victim(_ stage: FleetPlan.Stage) -> FleetMember? {
        let able = fleet.members.filter { member in
            member.stage == stage && !member.isRetired && !lasting.contains { $0.member === member }
        }
        return able.isEmpty ? nil : able[chance.below(able.count)]
    }

    private func play(_ act: Act) async throws {
        let now = WallTime.now().milliseconds
        switch act {
        case .kill(let stage):
            try await victim(stage)?.kill()
            note(.kill, stage, from: now)
        case .freeze(let stage):
            guard let member = victim(stage) else { return }
            member.freeze()
            note(.freeze, stage, from: now, until: now + Int64(plan.frozenMilliseconds))
            lasting.append(
                Lasting(member: member, until: now + Int64(plan.frozenMilliseconds)) { member.thaw() })
        case .stop(let stage):
            try await victim(stage)?.restart()
            note(.stop, stage, from: now)
        case .add(let stage): _ = try fleet.add(stage)
        case .rebuild(let stage):
            if let member = victim(stage) { try await fleet.rebuild(member) }
        case .wrongClock(let stage, let seconds, let isFromItsStart):
            guard let member = victim(stage), let clock = member.clock else { return }
            try clock.set(aheadSeconds: seconds)
            if isFromItsStart {
                try await member.kill()
                note(.kill, stage, from: now)
            }
            lasting.append(
                Lasting(member: member, until: now + Int64(plan.wrongMilliseconds)) {
                    try clock.set(aheadSeconds: 0)
                })
        case .killBroker:
            try await fleet.broker?.kill()
            try await fleet.broker?.start()
        case .refuse:
            _ = try await backend.simulator(
                "POST", "/v1/script", body: #"{"match":{},"answer":{"reason":"InvalidProviderToken"}}"#)
            let backend = backend
            lasting.append(
                Lasting(until: now + Int64(plan.wrongMilliseconds)) {
                    _ = try await backend.simulator("DELETE", "/v1/script")
                })
        }
    }

    /// Notes a fault of a sender. The verdict on senders needs no others.
    private func note(
        _ kind: SenderKills.Happening.Kind, _ stage: FleetPlan.Stage, from: Int64, until: Int64? = nil
    ) {
        guard stage == .sender else { return }
        happenings.append(
            SenderKills.Happening(kind: kind, from: from, until: until ?? WallTime.now().milliseconds))
    }
}
