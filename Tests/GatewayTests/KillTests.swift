import Foundation
import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import Testing

@testable import Gateway

/// Gateways that are killed while clients send. No acknowledged request may be lost or carried out twice.
///
/// The gateways are real processes. Clients on their own threads send to them and note the answers, and at the end the
/// topics must have each acknowledged request, once.
struct KillTests {
    // MARK: Reports

    /// Posts bodies of three reports with unique ids until the server is gone. Returns the ids that were
    /// answered 202, and counts these answers in `acknowledged`.
    private static func postReports(
        port: Int, key: String, name: String, counting acknowledged: TracedLock<Int>
    ) -> [String] {
        guard let peer = try? HTTPPeer(port: port) else { return [] }
        var stored: [String] = []
        for request in 0... {
            let ids = (0..<3).map { "\(name)-\(request)-\($0)" }
            let reports = ids.map { heartbeat(#","reportId":"\#($0)""#, installation: $0) }
            let body = Array("[\(reports.joined(separator: ","))]".utf8)
            guard
                let answer = try? peer.exchange(
                    "POST", "/v1/reports", headers: ["Authorization: Bearer \(key)"], body: body)
            else { return stored }
            if answer.status == 202 {
                stored += ids
                acknowledged.withLock { $0 += 1 }
            }
        }
        return stored
    }

    @Test(.timeLimit(.minutes(5)))
    func `every report that a killed gateway acknowledged is in the topic`() async throws {
        let gateways = try await GatewayProcesses(role: "report")
        let key = gateways.key
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var stored: [String] = []
        for round in 0..<trialCount(base: 4) {
            let (gateway, port) = try await gateways.start()
            let acknowledged = TracedLock(0)
            // The kill comes after this many answers.
            let answersBeforeKill = random.number(below: 300)
            stored += try await withThrowingTaskGroup(of: [String].self) { group in
                for client in 0..<8 {
                    group.addTask {
                        try await onThread {
                            Self.postReports(
                                port: port, key: key, name: "\(round)-\(client)", counting: acknowledged)
                        }
                    }
                }
                try await eventually("\(answersBeforeKill) acknowledgements") {
                    acknowledged.withLock { $0 } >= answersBeforeKill
                }
                gateway.send(signal: SIGKILL)
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        let expected = stored.count
        #expect(expected > 0)
        let records = try await gateways.records(of: "reports", atLeast: expected)
        let missing = Set(stored.map { "shop/i:\($0)" }).subtracting(records.map(\.key))
        #expect(
            missing.isEmpty, "seed \(seed): \(missing.count) of \(expected) acknowledged reports are lost")
    }

    // MARK: Sends

    /// Posts a send at one running gateway after another until it has this many answers with this status, for two minutes
    /// at most. The name is the idempotency key, and another score makes another body. Returns the ids in the answers.
    private static func postSend(
        named name: String, times: Int, score: Int, status: Int, to group: String, key: String,
        at ports: TracedLock<[Int]>
    ) -> [String] {
        var ids: [String] = []
        let body =
            #"{"event":"update","groupId":"\#(group)","contentState":{"name":"\#(name)","score":\#(score)}}"#
        let deadline = Instant.now().advanced(byMilliseconds: 120_000)
        var attempt = 0
        while ids.count < times, Instant.now() < deadline {
            attempt += 1
            let runningPorts = ports.withLock { $0 }
            let answer = try? HTTPPeer(port: runningPorts[(attempt + ids.count) % runningPorts.count])
                .exchange(
                    "POST", "/v1/sends",
                    headers: ["Authorization: Bearer \(key)", "Idempotency-Key: \(name)"],
                    body: Array(body.utf8))
            if answer?.status == status, let id = try? answer?.member("sendId") { ids.append(id) }
        }
        return ids
    }

    /// Waits for at least `count` final verdicts of the planner, and returns them by send.
    private static func verdicts(
        of gateways: GatewayProcesses, atLeast count: Int
    ) async throws -> [String: [ProgressRecord.PlannerVerdict]] {
        var verdicts: [String: [ProgressRecord.PlannerVerdict]] = [:]
        try await eventually("\(count) verdicts", seconds: 240) {
            verdicts = [:]
            for record in try await gateways.records(of: "progress", atLeast: count) {
                let progress = try ProgressRecord.decode(
                    Array(record.value.utf8), with: JSONReader())
                guard case .planner(let part) = progress.part, part.verdict != .held else { continue }
                verdicts[progress.send, default: []].append(part.verdict)
            }
            return verdicts.values.reduce(0) { $0 + $1.count } >= count
        }
        return verdicts
    }

    /// The sends of several clients, which each post to their own group.
    private struct ClientSends {
        /// The names of each client's sends.
        let names: [[String]]
        /// The number of sends that have their answers.
        let answeredCount = TracedLock(0)

        init(clients: Int, sendsPerClient: Int) {
            names = (0..<clients).map { client in (0..<sendsPerClient).map { "\(client)-\($0)" } }
        }

        var count: Int { names.reduce(0) { $0 + $1.count } }

        /// Posts each send twice, each client on its own thread. Meanwhile calls `disturb`. Returns the ids in the answers
        /// by name.
        func postTwice(
            key: String, at ports: TracedLock<[Int]>, during disturb: () async throws -> Void
        ) async throws -> [String: [String]] {
            try await withThrowingTaskGroup(of: [String: [String]].self) { group in
                for (client, names) in names.enumerated() {
                    let answeredCount = answeredCount
                    group.addTask {
                        try await onThread {
                            var answeredIDs: [String: [String]] = [:]
                            for name in names {
                                answeredIDs[name] = KillTests.postSend(
                                    named: name, times: 2, score: 1, status: 202, to: "g-\(client)", key: key,
                                    at: ports)
                                answeredCount.withLock { $0 += 1 }
                            }
                            return answeredIDs
                        }
                    }
                }
                try await disturb()
                return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
            }
        }
    }

    /// With `TEST_SCALE=42` the test posts ten thousand sends twice each, with eight gateways and 168 kills.
    @Test(.timeLimit(.minutes(60)))
    func `retries over killed gateways make one send per key, and another body is a conflict`()
        async throws
    {
        let gateways = try await GatewayProcesses(role: "send", types: ["Match"])
        let key = gateways.key
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var running: [(process: ChildProcess, port: Int)] = []
        for _ in 0..<min(8, trialCount(base: 2)) { running.append(try await gateways.start()) }
        let ports = TracedLock(running.map(\.port))
        let sends = ClientSends(clients: 6, sendsPerClient: trialCount(base: 40))

        // The gateways wait for its verdicts.
        let planner = try gateways.startFanOut()
        let kills = trialCount(base: 4)
        let answeredIDs = try await sends.postTwice(key: key, at: ports) {
            for kill in 1...kills {
                // The kills are spread over the sends, and the last sends have none.
                let sendsBeforeKill = kill * sends.count / (kills + 2)
                try await eventually("\(sendsBeforeKill) sends") {
                    sends.answeredCount.withLock { $0 } >= sendsBeforeKill
                }
                let index = random.number(below: running.count)
                running[index].process.send(signal: SIGKILL)
                let deadPort = running[index].port
                ports.withLock { $0.removeAll { $0 == deadPort } }
                running[index] = try await gateways.start()
                ports.withLock { $0 = running.map(\.port) }
            }
        }
        for (name, ids) in answeredIDs {
            #expect(ids.count == 2 && ids[0] == ids[1], "seed \(seed), \(name): \(ids)")
        }
        #expect(answeredIDs.count == sends.count)
        #expect(Set(answeredIDs.values.compactMap(\.first)).count == answeredIDs.count)

        // The same keys with another body are refused with the same ids.
        for (client, names) in sends.names.enumerated() {
            for name in names {
                let conflictingIDs = Self.postSend(
                    named: name, times: 1, score: 2, status: 409, to: "g-\(client)", key: key, at: ports)
                #expect(conflictingIDs.first == answeredIDs[name]?.first, "seed \(seed), \(name)")
            }
        }
        let verdicts = try await Self.verdicts(of: gateways, atLeast: 2 * answeredIDs.count)
        for (name, ids) in answeredIDs {
            let sendVerdicts = ids.first.flatMap { verdicts[$0] } ?? []
            let conflicts = sendVerdicts.count { $0 == ProgressRecord.PlannerVerdict.conflict }
            #expect(conflicts == 1, "seed \(seed), \(name): \(sendVerdicts)")
            #expect(sendVerdicts.count - conflicts == 1, "seed \(seed), \(name): \(sendVerdicts)")
        }
        planner.send(signal: SIGKILL)
        for gateway in running { gateway.process.send(signal: SIGKILL) }
    }
}
