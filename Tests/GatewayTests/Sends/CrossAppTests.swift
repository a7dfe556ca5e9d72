import CatalogRecords
import Foundation
import JSON
import Sends
import Simulation
import Testing
import Topics

@testable import Gateway

/// A key reaches only its own app, in every kind of request.
struct CrossAppTests {
    private struct Try: Sendable {
        let method: String
        let path: String
        let body: String
    }

    /// Makes calls that name objects of the bank in every possible way.
    private func tries(_ seed: inout SeededGenerator, send: String, definition: String) -> Try {
        let ids = [send, "\(send).undo", "..%2Fbank", "bank%2F\(send)", "r-1-0-000000000000000000000000"]
        let id = ids.randomElement(using: &seed)!
        let group = ["vault", "bank/vault", "../bank/vault", "bank%2Fvault"].randomElement(using: &seed)!
        let user = ["jane", "bank/jane", "u:jane"].randomElement(using: &seed)!
        switch Int.random(in: 0..<10, using: &seed) {
        case 0: return Try(method: "GET", path: "/v1/sends/\(id)", body: "")
        case 1: return Try(method: "DELETE", path: "/v1/sends/\(id)", body: "")
        case 2: return Try(method: "POST", path: "/v1/sends", body: SendsServiceTests.update(group))
        case 3:
            return Try(
                method: "POST", path: "/v1/sends",
                body: #"{"app":"bank",\#(SendsServiceTests.update(group).dropFirst(10))"#)
        case 4:
            return Try(
                method: "POST", path: "/v1/sends",
                body: SendsServiceTests.start(group, audience: #"{"segments":["rich"]}"#))
        case 5:
            let body = NetmeraExamplesTests.transactional.replacingOccurrences(of: "9401", with: definition)
            return Try(method: "POST", path: "/rest/3.0/sendNotification", body: body)
        case 6:
            let path = ["/v1/segments/rich", "/v1/definitions/\(definition)", "/v1/activity-types/Vault"]
                .randomElement(using: &seed)!
            return Try(method: ["GET", "DELETE"].randomElement(using: &seed)!, path: path, body: "")
        case 7:
            let name = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
            return Try(method: "DELETE", path: "/v1/users/\(name)", body: "")
        case 8:
            return Try(
                method: "PUT", path: "/v1/users/\(user.replacingOccurrences(of: "/", with: "%2F"))/profile",
                body: #"{"tags":["x"]}"#)
        default:
            return Try(
                method: "PUT", path: "/v1/segments/rich", body: #"{"rule":{"tag":"everybody"}}"#)
        }
    }

    @Test func `no request with one app's key reads or changes anything of another app`() async throws {
        let (bench, _cluster) = try await GatewayBench.forSends {
            $0.limits.requestsPerKeyAndSecondMax = 1_000_000
        }
        let posted = try await bench.call(
            "POST", "/v1/sends", SendsServiceTests.start("vault"), key: "bank/send")
        let defined = try await bench.call(
            "POST", "/rest/3.0/createNotificationDefinition", NetmeraExamplesTests.definition,
            key: "bank/send")
        let rule = #"{"rule":{"tag":"rich"}}"#
        #expect(try await bench.call("PUT", "/v1/segments/rich", rule, key: "bank/admin").status == 200)
        #expect(
            try await bench.call("PUT", "/v1/activity-types/Vault", "{}", key: "bank/admin").status == 200)
        let (send, number) = (try posted.member("sendId"), try defined.member("notificationKey"))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let all = (0..<trialCount(base: 300)).map { _ in tries(&random, send: send, definition: number) }
        let (port, key) = (bench.port, try #require(bench.keys["shop/admin"]))
        let answers = try await onThread {
            let peer = try HTTPPeer(port: port)
            return try all.map { one in
                let header =
                    one.path.hasPrefix("/rest") ? "X-netmera-api-key: \(key)" : "Authorization: Bearer \(key)"
                return try peer.exchange(one.method, one.path, [header], Array(one.body.utf8))
            }
        }
        for (one, answer) in zip(all, answers) {
            #expect(answer.status < 500, "seed \(seed): \(one) \(answer.body)")
            #expect(
                !answer.body.contains("vault") || answer.status >= 400, "seed \(seed): \(one) \(answer.body)")
            if one.path.hasSuffix(send) {
                #expect(answer.status == 404, "seed \(seed): \(one) \(answer.body)")
            }
        }
        // Everything that was stored belongs to the shop.
        for topic in [TopicName.sends, .reports, .audit, .catalog] {
            for record in try await bench.records(topic, 1) where record.key.contains("bank") {
                let isOwn =
                    record.key.hasPrefix("shop/")
                    || ["type", "segment", "definition"].contains {
                        record.key.hasPrefix("\($0)/shop/")
                    }
                let isBanks =
                    record.value.contains(#""by":"\#(bench.records["bank/send"]?.id ?? "")""#)
                    || record.value.contains(#""by":"\#(bench.records["bank/admin"]?.id ?? "")""#)
                    || record.value.contains(#""by":"a test""#) || record.key.contains("/bank/")
                    || record.key == "bank/vault"
                #expect(isOwn || isBanks, "seed \(seed): \(topic) \(record)")
            }
        }
        #expect(
            try await bench.call("GET", "/v1/segments/rich", key: "bank/read").body.contains(#""tag":"rich""#)
        )
        #expect(try await bench.call("GET", "/v1/definitions/\(number)", key: "bank/read").status == 200)
        #expect(try await bench.call("GET", "/v1/activity-types/Vault", key: "bank/read").status == 200)
        let kept = try await bench.sends(1).filter { $0.app == "bank" }
        #expect(kept.map(\.id) == [send], "no send and no cancel came from the shop's key")
        await bench.stop()
        _ = _cluster
    }
}
