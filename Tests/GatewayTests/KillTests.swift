import Foundation
import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import Testing

@testable import Gateway

/// Kill tests with real gateway processes, while clients send.
struct KillTests {
    /// Sends bodies of three reports with unique ids until the server is gone. Returns the ids that were
    /// answered 202.
    private static func send(
        port: Int, key: String, name: String, counting acknowledged: TracedLock<Int>
    ) -> [String] {
        guard let peer = try? HTTPPeer(port: port) else { return [] }
        var stored: [String] = []
        for round in 0... {
            let ids = (0..<3).map { "\(name)-\(round)-\($0)" }
            let reports = ids.map { heartbeat(#","reportId":"\#($0)""#, installation: $0) }
            let body = Array("[\(reports.joined(separator: ","))]".utf8)
            guard
                let answer = try? peer.exchange(
                    "POST", "/v1/reports", ["Authorization: Bearer \(key)"], body)
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
        for life in 0..<trialCount(base: 4) {
            let (gateway, port) = try await gateways.start()
            let acknowledged = TracedLock(0)
            let wanted = random.number(below: 300)
            stored += try await withThrowingTaskGroup(of: [String].self) { group in
                for client in 0..<8 {
                    group.addTask {
                        try await onThread {
                            Self.send(port: port, key: key, name: "\(life)-\(client)", counting: acknowledged)
                        }
                    }
                }
                try await eventually("\(wanted) acknowledgements") { acknowledged.withLock { $0 } >= wanted }
                gateway.send(signal: SIGKILL)
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        let expected = stored.count
        #expect(expected > 0)
        let found = try await gateways.records("reports", expected)
        let missing = Set(stored.map { "shop/i:\($0)" }).subtracting(found.map(\.key))
        #expect(
            missing.isEmpty, "seed \(seed): \(missing.count) of \(expected) acknowledged reports are lost")
    }

    /// Posts a send until it has this many 202 answers, each time at another living gateway.
    private static func send(
        _ name: String, times: Int = 2, score: Int = 1, to group: String, _ key: String,
        at ports: TracedLock<[Int]>
    ) -> [String] {
        var ids: [String] = []
        let body =
            #"{"event":"update","groupId":"\#(group)","contentState":{"name":"\#(name)","score":\#(score)}}"#
        let end = Instant.now().advanced(byMilliseconds: 120_000)
        var attempt = 0
        while ids.count < times, Instant.now() < end {
            attempt += 1
            let alive = ports.withLock { $0 }
            let answer = try? HTTPPeer(port: alive[(attempt + ids.count) % alive.count]).exchange(
                "POST", "/v1/sends", ["Authorization: Bearer \(key)", "Idempotency-Key: \(name)"],
                Array(body.utf8))
            if answer?.status == 202, let id = try? answer?.member("sendId") { ids.append(id) }
        }
        return ids
    }

    /// Returns the planner's final verdict of each send, when the planner has decided this many.
    private static func verdicts(
        of gateways: GatewayProcesses, _ wanted: Int
    ) async throws -> [String: [ProgressRecord.PlannerVerdict]] {
        var verdicts: [String: [ProgressRecord.PlannerVerdict]] = [:]
        try await eventually("\(wanted) verdicts", seconds: 240) {
            verdicts = [:]
            for record in try await gateways.records("progress", wanted) {
                let progress = try ProgressRecord.decode(
                    Array(record.value.utf8), with: JSONReader())
                guard case .planner(let part) = progress.part, part.verdict != .held else { continue }
                verdicts[progress.send, default: []].append(part.verdict)
            }
            return verdicts.values.reduce(0) { $0 + $1.count } >= wanted
        }
        return verdicts
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
        let sent = TracedLock(0)
        let (clients, count, kills) = (6, trialCount(base: 40), trialCount(base: 4))
        let names = (0..<clients).map { client in (0..<count).map { "\(client)-\($0)" } }
        let answered = try await withThrowingTaskGroup(of: [String: [String]].self) { group in
            for (client, names) in names.enumerated() {
                group.addTask {
                    try await onThread {
                        var answered: [String: [String]] = [:]
                        for name in names {
                            answered[name] = Self.send(name, to: "g-\(client)", key, at: ports)
                            sent.withLock { $0 += 1 }
                        }
                        return answered
                    }
                }
            }
            for kill in 1...kills {
                let wanted = kill * clients * count / (kills + 2)
                try await eventually("\(wanted) sends") { sent.withLock { $0 } >= wanted }
                let index = random.number(below: running.count)
                running[index].process.send(signal: SIGKILL)
                let dead = running[index].port
                ports.withLock { $0.removeAll { $0 == dead } }
                running[index] = try await gateways.start()
                ports.withLock { $0 = running.map(\.port) }
            }
            return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
        }
        for (name, ids) in answered {
            #expect(ids.count == 2 && ids[0] == ids[1], "seed \(seed), \(name): \(ids)")
        }
        #expect(answered.count == clients * count)
        #expect(Set(answered.values.compactMap(\.first)).count == answered.count)
        // Send the same keys with another body.
        for (client, names) in names.enumerated() {
            for name in names {
                let again = Self.send(name, times: 1, score: 2, to: "g-\(client)", key, at: ports)
                #expect(again.first == answered[name]?.first, "seed \(seed), \(name)")
            }
        }
        let planner = try gateways.startFanOut()
        let verdicts = try await Self.verdicts(of: gateways, 2 * answered.count)
        for (name, ids) in answered {
            let said = ids.first.flatMap { verdicts[$0] } ?? []
            let conflicts = said.count { $0 == ProgressRecord.PlannerVerdict.conflict }
            #expect(conflicts == 1, "seed \(seed), \(name): \(said)")
            #expect(said.count - conflicts == 1, "seed \(seed), \(name): \(said)")
        }
        planner.send(signal: SIGKILL)
        for gateway in running { gateway.process.send(signal: SIGKILL) }
    }
}
