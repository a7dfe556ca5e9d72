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
    private struct Call: Sendable {
        let method: String
        let path: String
        let body: String
    }

    /// Returns a random call that names an object of the bank, in one of many ways.
    private func foreignCall(
        send: String, definition: String, using seed: inout SeededGenerator
    ) -> Call {
        let ids = [send, "\(send).undo", "..%2Fbank", "bank%2F\(send)", "r-1-0-000000000000000000000000"]
        let id = ids.randomElement(using: &seed)!
        let group = ["vault", "bank/vault", "../bank/vault", "bank%2Fvault"].randomElement(using: &seed)!
        let user = ["jane", "bank/jane", "u:jane"].randomElement(using: &seed)!
        switch Int.random(in: 0..<10, using: &seed) {
        case 0: return Call(method: "GET", path: "/v1/sends/\(id)", body: "")
        case 1: return Call(method: "DELETE", path: "/v1/sends/\(id)", body: "")
        case 2: return Call(method: "POST", path: "/v1/sends", body: SendsServiceTests.update(ofGroup: group))
        case 3:
            return Call(
                method: "POST", path: "/v1/sends",
                body: #"{"app":"bank",\#(SendsServiceTests.update(ofGroup: group).dropFirst())"#)
        case 4:
            return Call(
                method: "POST", path: "/v1/sends",
                body: SendsServiceTests.start(ofGroup: group, audience: #"{"segments":["rich"]}"#))
        case 5:
            let body = NetmeraExamplesTests.transactional.replacingOccurrences(of: "9401", with: definition)
            return Call(method: "POST", path: "/rest/3.0/sendNotification", body: body)
        case 6:
            let path = ["/v1/segments/rich", "/v1/definitions/\(definition)", "/v1/activity-types/Vault"]
                .randomElement(using: &seed)!
            return Call(method: ["GET", "DELETE"].randomElement(using: &seed)!, path: path, body: "")
        case 7:
            let name = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
            return Call(method: "DELETE", path: "/v1/users/\(name)", body: "")
        case 8:
            return Call(
                method: "PUT", path: "/v1/users/\(user.replacingOccurrences(of: "/", with: "%2F"))/profile",
                body: #"{"tags":["x"]}"#)
        default:
            return Call(
                method: "PUT", path: "/v1/segments/rich", body: #"{"rule":{"tag":"everybody"}}"#)
        }
    }

    @Test func `no request with one app's key reads or changes anything of another app`() async throws {
        let (bench, _cluster) = try await GatewayBench.forSends {
            $0.limits.requestsPerKeyAndSecondMax = 1_000_000
        }
        let posted = try await bench.call(
            "POST", "/v1/sends", body: SendsServiceTests.start(ofGroup: "vault"), key: "bank/send")
        let defined = try await bench.call(
            "POST", "/rest/3.0/createNotificationDefinition", body: NetmeraExamplesTests.definition,
            key: "bank/send")
        let rule = #"{"rule":{"tag":"rich"}}"#
        #expect(try await bench.call("PUT", "/v1/segments/rich", body: rule, key: "bank/admin").status == 200)
        #expect(
            try await bench.call("PUT", "/v1/activity-types/Vault", body: "{}", key: "bank/admin").status
                == 200)
        let (send, number) = (try posted.member("sendId"), try defined.member("notificationKey"))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let calls = (0..<trialCount(base: 300)).map { _ in
            foreignCall(send: send, definition: number, using: &random)
        }
        let (port, key) = (bench.port, try #require(bench.keys["shop/admin"]))
        let answers = try await onThread {
            let peer = try HTTPPeer(port: port)
            return try calls.map { call in
                let header =
                    call.path.hasPrefix("/rest")
                    ? "X-netmera-api-key: \(key)" : "Authorization: Bearer \(key)"
                return try peer.exchange(
                    call.method, call.path, headers: [header], body: Array(call.body.utf8))
            }
        }
        for (call, answer) in zip(calls, answers) {
            #expect(answer.status < 500, "seed \(seed): \(call) \(answer.body)")
            #expect(
                !answer.body.contains("vault") || answer.status >= 400, "seed \(seed): \(call) \(answer.body)"
            )
            if call.path.hasSuffix(send) {
                #expect(answer.status == 404, "seed \(seed): \(call) \(answer.body)")
            }
        }
        // Everything that was stored belongs to the shop.
        for topic in [TopicName.sends, .reports, .audit, .catalog] {
            for record in try await bench.records(of: topic, atLeast: 1) where record.key.contains("bank") {
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
        let bankSends = try await bench.sends(atLeast: 1).filter { $0.app == "bank" }
        #expect(bankSends.map(\.id) == [send], "no send and no cancel came from the shop's key")
        await bench.stop()
        _ = _cluster
    }
}
