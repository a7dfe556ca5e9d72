import Foundation
import JSON
import Lifecycle
import LiveActivity
import ProcessTesting
import Simulation
import Testing

@testable import Gateway

/// Real processes: gateways that are killed while clients send.
struct KillTests {
    /// Sends bodies of three reports with ids that nobody else uses, until the server is gone. Returns
    /// the ids that were answered 202.
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
        var random = SeededGenerator(seed)
        var stored: [String] = []
        for life in 0..<trials(4) {
            let (gateway, port) = try await gateways.start()
            let acknowledged = TracedLock(0)
            let wanted = random.below(300)
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

    /// Posts a send until it is answered 202, at whatever gateway is alive; then once more, at another.
    private static func send(_ name: String, _ key: String, to ports: TracedLock<[Int]>) -> [String] {
        var ids: [String] = []
        let body =
            #"{"event":"update","groupId":"g-\#(name.hashValue % 5)","contentState":{"name":"\#(name)"}}"#
        for attempt in 0..<2000 where ids.count < 2 {
            let alive = ports.withLock { $0 }
            guard !alive.isEmpty,
                let answer = try? HTTPPeer(port: alive[(attempt + ids.count) % alive.count]).exchange(
                    "POST", "/v1/sends", ["Authorization: Bearer \(key)", "Idempotency-Key: \(name)"],
                    Array(body.utf8))
            else {
                // The wait between two looks for a gateway that lives.
                usleep(20_000)
                continue
            }
            if answer.status == 202, let id = try? answer.member("sendId") { ids.append(id) }
        }
        return ids
    }

    @Test(.timeLimit(.minutes(5)))
    func `retries over gateways that are killed are one send for each key`() async throws {
        let gateways = try await GatewayProcesses(role: "send", types: ["Match"])
        let key = gateways.key
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed)
        var running = [try await gateways.start(), try await gateways.start()]
        let ports = TracedLock(running.map(\.port))
        let sent = TracedLock(0)
        let count = trials(40)
        let answered = try await withThrowingTaskGroup(of: [[String]].self) { group in
            for client in 0..<6 {
                group.addTask {
                    try await onThread {
                        (0..<count).map { number in
                            defer { sent.withLock { $0 += 1 } }
                            return Self.send("\(client)-\(number)", key, to: ports)
                        }
                    }
                }
            }
            for kill in 1...4 {
                let wanted = kill * 6 * count / 6
                try await eventually("\(wanted) sends") { sent.withLock { $0 } >= wanted }
                let index = random.below(2)
                running[index].process.send(signal: SIGKILL)
                ports.withLock { $0 = [running[1 - index].port] }
                running[index] = try await gateways.start()
                ports.withLock { $0 = running.map(\.port) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(answered.count == 6 * count)
        for ids in answered { #expect(ids.count == 2 && ids[0] == ids[1], "seed \(seed): \(ids)") }
        let stored = try await gateways.records("sends", 2 * answered.count)
        var fingerprints: [String: Set<String>] = [:]
        for record in stored {
            let send = try Send.decode(Array(record.value.utf8), with: JSONReader())
            fingerprints[send.id, default: []].insert(send.fingerprint ?? "")
        }
        #expect(Set(fingerprints.keys) == Set(answered.flatMap(\.self)), "seed \(seed)")
        #expect(
            fingerprints.values.allSatisfy { $0.count == 1 }, "seed \(seed): the planner drops all but one")
        for gateway in running { gateway.process.send(signal: SIGKILL) }
    }
}
