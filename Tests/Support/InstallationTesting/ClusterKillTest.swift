internal import Foundation
internal import IngestTesting
internal import ProcessTesting
internal import SenderTesting
internal import Simulation
internal import Synchronization
internal import Telemetry

/// A match on a complete fleet while the nodes of its Kafka cluster die and return, one at a time.
///
/// The test kills no process of the fleet. Each must live through every death, no phone may be behind for long, and
/// `InstallationCheck` must find that nothing is lost or duplicated. One task does everything. Whenever it waits for the
/// match, it calls `advance`, which kills and starts nodes.
package final class ClusterKillTest {
    package struct Plan: Sendable {
        package var processesPerStage = 2
        package var phones = 3000
        /// The number of deaths. The nodes die in turn, in a new random order each time.
        package var kills = 30
        package var nodeCount = 3
        /// The time for which a node is away, and the calm time after its return.
        package var awayMilliseconds = 7000...20_000
        package var calmMilliseconds = 8000
        /// The longest time for which a phone may show an older state than the newest accepted one.
        package var behindMillisecondsMax: Int64 = 15_000
        package var seed: UInt64 = 1
        /// Called with a line about the progress of the test.
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    /// The nodes of the cluster, which the test kills and starts by their numbers from 1.
    package struct Nodes: Sendable {
        package let kill: @Sendable (Int) async throws -> Void
        package let start: @Sendable (Int) async throws -> Void

        package init(
            kill: @escaping @Sendable (Int) async throws -> Void,
            start: @escaping @Sendable (Int) async throws -> Void
        ) {
            (self.kill, self.start) = (kill, start)
        }
    }

    package struct Result: Sendable {
        package internal(set) var faults: [String] = []
        package internal(set) var killCount = 0
        package internal(set) var updateCount = 0
        /// The longest time that a phone was behind, and that no gateway accepted an update.
        package internal(set) var behindMillisecondsMax: Int64 = 0
        package internal(set) var refusedMillisecondsMax: Int64 = 0
        /// The summary of `InstallationCheck`.
        package internal(set) var verdict = ""

        package var summary: String {
            """
            \(killCount) deaths of nodes, \(updateCount) updates; a phone was behind for \(behindMillisecondsMax) ms at \
            most, and updates were refused for \(refusedMillisecondsMax) ms at most; \(verdict)
            """
        }
    }

    /// The state of the cluster. The times are in milliseconds since 1970.
    private enum ClusterState {
        /// All nodes run. The next node dies at `until`.
        case calm(until: Int64)
        case away(node: Int, until: Int64)
        /// The command that starts the node runs.
        case returning
    }

    /// A running command for a node, which the updates do not wait for.
    private final class NodeCommand: Sendable {
        private let result = Mutex<Swift.Result<Void, any Error>?>(nil)

        init(_ action: @escaping @Sendable () async throws -> Void) {
            Task {
                do {
                    try await action()
                    result.withLock { $0 = .success(()) }
                } catch {
                    result.withLock { $0 = .failure(error) }
                }
            }
        }

        /// Returns whether the command has ended. Throws the error with which it ended.
        func hasEnded() throws -> Bool {
            guard let result = result.withLock({ $0 }) else { return false }
            try result.get()
            return true
        }
    }

    private static let updateIntervalMilliseconds: Int64 = 1000
    private static let measurementIntervalMilliseconds: Int64 = 250
    /// The limit of each wait for the phones, and of the wait for the progress of all sends.
    private static let completionSecondsMax = 180.0
    /// The permits of each sender: the pushes that a kill could duplicate.
    private static let permits = 500

    private let plan: Plan
    private let nodes: Nodes
    private let fleet: Fleet
    private let backend: FleetBackend
    private let match: FleetMatch
    /// A word in everything that phones show.
    private let secret: String
    private var random: SeededGenerator
    private var result = Result()
    private var clusterState: ClusterState
    /// The nodes of the current turn that are still to die.
    private var remainingNodes: [Int] = []
    /// The command of the last death or return.
    private var nodeCommand: NodeCommand?
    /// The time at which each content state was accepted, by its goals, in milliseconds since 1970.
    private var acceptedAt: [Int64] = []
    /// The time of the next look at the screens, in milliseconds since 1970.
    private var nextMeasurementAt: Int64 = 0
    /// The longest times since the last death: for which a phone was behind, and for which no gateway accepted an update.
    private var behindMillisecondsSinceDeath: Int64 = 0
    private var refusedMillisecondsSinceDeath: Int64 = 0

    /// - Parameters:
    ///   - programs: The directory with `flotilla`.
    ///   - brokers: The cluster of the nodes.
    package init(plan: Plan, nodes: Nodes, programs: String, brokers: [String], directory: String)
        async throws
    {
        self.plan = plan
        self.nodes = nodes
        random = SeededGenerator(seed: plan.seed)
        var fleetPlan = FleetPlan()
        fleetPlan.processesPerStage = plan.processesPerStage
        fleetPlan.phones = plan.phones
        fleetPlan.brokers = brokers
        fleetPlan.isSealed = true
        fleetPlan.permits = Self.permits
        let canary = "canary\(plan.seed)"
        secret = "secret-\(canary)"
        fleet = try await Fleet(plan: fleetPlan, programs: programs, directory: directory, canary: canary)
        backend = FleetBackend(fleet: fleet)
        match = FleetMatch(group: "match-\(canary)", fleet: fleet, backend: backend, secret: secret)
        clusterState = .calm(until: 0)
    }

    package func run() async throws -> Result {
        defer { try? fleet.writeLogs() }
        // No node dies before the match has begun.
        clusterState = .calm(until: .max)
        try await match.waitUntilFound(
            phones: plan.phones, byDryRun: match.startBody(isDryRun: true), meanwhile: advance)
        var sends = [try await match.send(match.startBody(), named: "start", meanwhile: advance)]
        try await waitUntilShown(goals: 0)
        acceptedAt = [WallTime.now().milliseconds]
        clusterState = .calm(until: WallTime.now().milliseconds)
        while !areAllNodesBack { sends.append(try await sendNextUpdate()) }
        let lastGoals = acceptedAt.count - 1
        try await waitUntilShown(goals: lastGoals)
        sends.append(
            try await match.send(match.endBody(goals: lastGoals + 1), named: "end", meanwhile: advance))
        acceptedAt.append(WallTime.now().milliseconds)
        try await waitUntilShown(goals: lastGoals + 1)
        try await waitUntilComplete(sends)
        plan.report("the end: \(progressText)")
        let view = try await InstallationOutsideView(of: fleet, by: backend, group: match.group, sends: sends)
        try await fleet.stop()
        let check = try InstallationCheck(
            fleet: fleet, view: view, secret: secret, permits: Self.permits, after: [], peaks: [],
            replayed: [])
        result.faults += check.faults
        result.verdict = check.summary
        if result.behindMillisecondsMax > plan.behindMillisecondsMax {
            result.faults.append("a phone was behind for \(result.behindMillisecondsMax) ms")
        }
        if !result.faults.isEmpty { result.faults.append("the logs of fan-out end with:\n\(fanOutLogEnds)") }
        return result
    }

    // MARK: The match

    /// Sends an update, and waits until the next one is due.
    private func sendNextUpdate() async throws -> FleetBackend.AcceptedSend {
        let goals = acceptedAt.count
        let startedAt = WallTime.now().milliseconds
        let send = try await match.send(
            match.updateBody(goals: goals), named: "update-\(goals)", meanwhile: advance)
        let now = WallTime.now().milliseconds
        acceptedAt.append(now)
        result.updateCount += 1
        refusedMillisecondsSinceDeath = max(refusedMillisecondsSinceDeath, now - startedAt)
        result.refusedMillisecondsMax = max(result.refusedMillisecondsMax, refusedMillisecondsSinceDeath)
        while WallTime.now().milliseconds < startedAt + Self.updateIntervalMilliseconds {
            try await advanceAndPause()
        }
        return send
    }

    private func advanceAndPause() async throws {
        try await advance()
        try await Task.sleep(for: .milliseconds(20))
    }

    /// Waits until every phone shows an activity with this number of goals.
    private func waitUntilShown(goals: Int) async throws {
        var deadline = PollingDeadline(seconds: Self.completionSecondsMax)
        var screens = ""
        while !deadline.hasPassed() {
            try await advanceAndPause()
            screens = try await backend.screens(of: match.group)
            if screens.contains("\"activities\":\(plan.phones),"), Self.oldestGoals(in: screens) == goals {
                return
            }
        }
        let contentState = match.contentState(goals: goals)
        let trail = await PhoneTrail(to: contentState, on: fleet, by: backend).text()
        throw KillTestFailure("phones do not show \(contentState): \(screens)\n\(trail)\n\(logEnds)")
    }

    private func waitUntilComplete(_ sends: [FleetBackend.AcceptedSend]) async throws {
        var deadline = PollingDeadline(seconds: Self.completionSecondsMax)
        for send in sends {
            while try await backend.progress(of: send, key: fleet.mainApp.readKey)?.isComplete != true {
                guard !deadline.hasPassed() else {
                    throw KillTestFailure("the send \(send.id) does not become complete\n\(logEnds)")
                }
                try await advanceAndPause()
            }
        }
    }

    /// The end of the output of each process, for an error.
    private var logEnds: String {
        fleet.members.map { "\($0.name): \($0.process.errors.suffix(1500))" }.joined(separator: "\n")
    }

    private var fanOutLogEnds: String {
        fleet.members.filter { $0.stage == .fanOut }.flatMap(\.logs).map { String($0.suffix(20_000)) }
            .joined(separator: "\n")
    }

    // MARK: The background

    /// Does the background work: kills and starts nodes, looks at the screens, and watches the processes.
    private func advance() async throws {
        let now = WallTime.now().milliseconds
        try advanceNodes(at: now)
        for member in fleet.members where !member.isRetired && !member.process.isRunning {
            result.faults.append("\(member.name) ended: \(member.process.errors.suffix(300))")
            try await member.restartIfExited()
        }
        if now >= nextMeasurementAt, !acceptedAt.isEmpty {
            nextMeasurementAt = now + Self.measurementIntervalMilliseconds
            try await measurePhones()
        }
    }

    /// Whether all deaths have happened, and the calm time after the last one is over.
    private var areAllNodesBack: Bool {
        if case .calm(let until) = clusterState, result.killCount == plan.kills {
            return WallTime.now().milliseconds >= until
        }
        return false
    }

    private func advanceNodes(at now: Int64) throws {
        let nodes = nodes
        switch clusterState {
        case .calm(let until):
            guard now >= until, result.killCount < plan.kills else { return }
            if remainingNodes.isEmpty { remainingNodes = Array(1...plan.nodeCount).shuffled(using: &random) }
            let node = remainingNodes.removeLast()
            result.killCount += 1
            plan.report("death \(result.killCount) of \(plan.kills): node \(node); \(progressText)")
            (behindMillisecondsSinceDeath, refusedMillisecondsSinceDeath) = (0, 0)
            nodeCommand = NodeCommand { try await nodes.kill(node) }
            let awayMilliseconds = Int.random(in: plan.awayMilliseconds, using: &random)
            clusterState = .away(node: node, until: now + Int64(awayMilliseconds))
        case .away(let node, let until):
            guard now >= until, try nodeCommand?.hasEnded() == true else { return }
            nodeCommand = NodeCommand { try await nodes.start(node) }
            clusterState = .returning
        case .returning:
            guard try nodeCommand?.hasEnded() == true else { return }
            clusterState = .calm(until: now + Int64(plan.calmMilliseconds))
        }
    }

    private var progressText: String {
        """
        \(result.updateCount) updates; since the last death a phone was behind for \(behindMillisecondsSinceDeath) ms at \
        most, and updates were refused for \(refusedMillisecondsSinceDeath) ms at most
        """
    }

    /// Measures for how long the phone with the oldest state has missed the next one.
    private func measurePhones() async throws {
        // The screens are read after the time, so no phone counts as behind for a state that it got in between.
        let now = WallTime.now().milliseconds
        guard let oldest = Self.oldestGoals(in: try await backend.screens(of: match.group)),
            oldest + 1 < acceptedAt.count
        else { return }
        behindMillisecondsSinceDeath = max(behindMillisecondsSinceDeath, now - acceptedAt[oldest + 1])
        result.behindMillisecondsMax = max(result.behindMillisecondsMax, behindMillisecondsSinceDeath)
    }

    /// Returns the lowest number of goals that a phone shows, or nil if no phone shows the match.
    private static func oldestGoals(in screens: String) -> Int? {
        screens.matches(of: #/"home":(\d+)/#).compactMap { Int($0.1) }.min()
    }
}
