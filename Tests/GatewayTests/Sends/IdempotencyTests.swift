import Foundation
import Sends
import Simulation
import Testing

@testable import Gateway

/// Repeated requests at several gateways. Gateways do not know each other's requests: the same key gives the same id at
/// each of them, and the planner compares the bodies by their fingerprints.
struct IdempotencyTests {
    @Test
    func `retries at two gateways have one id, and the planner can detect another body`()
        async throws
    {
        let (first, _cluster) = try await GatewayBench.forSends {
            $0.limits.requestsPerKeyAndSecondMax = 1_000_000
        }
        let second = try await first.another { $0.limits.requestsPerKeyAndSecondMax = 1_000_000 }
        let count = trialCount(base: 100)
        let (ports, key) = ([first.port, second.port], try #require(first.keys["shop/send"]))
        func post(toGateway gateway: Int, score: Int) async throws -> [String] {
            try await onThread {
                let peer = try HTTPPeer(port: ports[gateway])
                return try (0..<count).map { number in
                    let answer = try peer.exchange(
                        "POST", "/v1/sends",
                        headers: ["Authorization: Bearer \(key)", "Idempotency-Key: goal-\(number)"],
                        body: Array(SendsServiceTests.update(ofGroup: "m\(number % 7)", score: score).utf8))
                    #expect(answer.status == 202, "\(answer.body)")
                    return try answer.member("sendId")
                }
            }
        }
        async let firstIDs = post(toGateway: 0, score: 1)
        async let secondIDs = post(toGateway: 1, score: 1)
        let ids = try await firstIDs
        #expect(try await secondIDs == ids)
        #expect(Set(ids).count == count)
        #expect(try await post(toGateway: 1, score: 2) == ids)

        // The planner's rule: the first send of an id counts. A later one with another fingerprint is a conflict.
        var fingerprints: [String: String] = [:]
        var conflicts = 0
        for send in try await first.sends(atLeast: 3 * count) {
            let fingerprint = try #require(send.fingerprint)
            if let known = fingerprints[send.id] {
                if known != fingerprint { conflicts += 1 }
            } else {
                fingerprints[send.id] = fingerprint
            }
        }
        #expect(fingerprints.count == count && conflicts == count)
        await second.stop()
        await first.stop()
        _ = _cluster
    }
}
