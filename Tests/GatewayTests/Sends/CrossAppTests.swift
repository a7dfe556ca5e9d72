import CatalogRecords
import Foundation
import JSON
import Sends
import Simulation
import Testing
import Topics

@testable import Gateway

/// A key reaches only its own app, in every kind of request. The bank has a send, a definition, a segment and an
/// activity type. Hundreds of random requests with the shop's key name these objects, and none may read or change one.
struct CrossAppTests {
    private struct Call: Sendable {
        let method: String
        let path: String
        let body: String
    }

    /// Returns a random call that names an object of the bank, in one of many ways.
    private func foreignCall(
        send: String, definition: String, using random: inout SeededGenerator
    ) -> Call {
        let ids = [send, "\(send).undo", "..%2Fbank", "bank%2F\(send)", "r-1-0-000000000000000000000000"]
        let id = ids.randomElement(using: &random)!
        let group = ["vault", "bank/vault", "../bank/vault", "bank%2Fvault"].randomElement(using: &random)!
        let user = ["jane", "bank/jane", "u:jane"].randomElement(using: &random)!
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return Call(method: "GET", path: "/v1/sends/\(id)", body: "")
        case 1: return Call(method: "DELETE", path: "/v1/sends/\(id)", body: "")
        case 2: return Call(method: "POST", path: "/v1/sends", body: SendsServiceTests.update(ofGroup: group))
        case 3:
            return Call(
                method: "POST", path: "/v1/sends",
                body: SendsServiceTests.update(ofGroup: group).adding(member: "app", value: #""bank""#))
        case 4:
            return Call(
                method: "POST", path: "/v1/sends",
                body: SendsServiceTests.start(ofGroup: group, audience: #"{"segments":["rich"]}"#))
        case 5:
            let body = NetmeraExamplesTests.transactional.replacingOccurrences(of: "9401", with: definition)
            return Call(method: "POST", path: "/rest/3.0/sendNotification", body: body)
        case 6:
            let path = ["/v1/segments/rich", "/v1/definitions/\(definition)", "/v1/activity-types/Vault"]
                .randomElement(using: &random)!
            return Call(method: ["GET", "DELETE"].randomElement(using: &random)!, path: path, body: "")
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
        let bench = try await GatewayBench.forSends {
            $0.limits.requestsPerKeyAndSecondMax = 1_000_000
        }
        let bankObjects = try await Self.createBankObjects(at: bench)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let calls = (0..<trialCount(base: 300)).map { _ in
            foreignCall(send: bankObjects.send, definition: bankObjects.definition, using: &random)
        }

        let answers = try await Self.perform(calls, withShopKeyAt: bench)

        for (call, answer) in zip(calls, answers) {
            #expect(answer.status < 500, "seed \(seed): \(call) \(answer.body)")
            // An error may repeat the name that the call contains.
            let readsVault = answer.body.contains("vault") && answer.status < 400
            #expect(!readsVault, "seed \(seed): \(call) \(answer.body)")
            if call.path.hasSuffix(bankObjects.send) {
                #expect(answer.status == 404, "seed \(seed): \(call) \(answer.body)")
            }
        }
        try await Self.expectRecordsBelongToTheirWriters(at: bench, seed: seed)
        try await Self.expectUnchanged(bankObjects, at: bench)
        await bench.stop()
    }

    /// The id of the bank's send, and the number of its definition. Its group is `vault`, its segment `rich`, and its
    /// activity type `Vault`.
    private typealias BankObjects = (send: String, definition: String)

    private static func createBankObjects(at bench: GatewayBench) async throws -> BankObjects {
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
        return (try posted.member("sendId"), try defined.member("notificationKey"))
    }

    /// Performs the calls on one connection, with the shop's key of the role `admin`.
    private static func perform(_ calls: [Call], withShopKeyAt bench: GatewayBench) async throws
        -> [HTTPAnswer]
    {
        let (port, key) = (bench.port, try #require(bench.keys["shop/admin"]))
        return try await onThread {
            let peer = try HTTPPeer(port: port)
            return try calls.map { call in
                let header =
                    call.path.hasPrefix("/rest")
                    ? "X-netmera-api-key: \(key)" : "Authorization: Bearer \(key)"
                return try peer.exchange(
                    call.method, call.path, headers: [header], body: Array(call.body.utf8))
            }
        }
    }

    /// Checks that each stored record whose key names the bank is the shop's own, or was written by the bank or the test.
    private static func expectRecordsBelongToTheirWriters(at bench: GatewayBench, seed: UInt64) async throws {
        let bankAuthors = ["bank/send", "bank/admin"].map { bench.keyRecords[$0]?.id ?? "" } + ["a test"]
        for topic in [TopicName.sends, .reports, .audit, .auditSends, .catalog] {
            for record in try await bench.records(of: topic, atLeast: 1) where record.key.contains("bank") {
                let isOfShop =
                    record.key.hasPrefix("shop/")
                    || ["type", "segment", "definition"].contains {
                        record.key.hasPrefix("\($0)/shop/")
                    }
                let isByBank = bankAuthors.contains { record.value.contains(#""by":"\#($0)""#) }
                // `expectUnchanged` looks at the bank's objects in the catalog and at its send.
                let isBankObject = record.key.contains("/bank/") || record.key == "bank/vault"
                #expect(isOfShop || isByBank || isBankObject, "seed \(seed): \(topic) \(record)")
            }
        }
    }

    private static func expectUnchanged(_ bankObjects: BankObjects, at bench: GatewayBench) async throws {
        let segment = try await bench.call("GET", "/v1/segments/rich", key: "bank/read")
        #expect(segment.body.contains(#""tag":"rich""#))
        let definition = try await bench.call(
            "GET", "/v1/definitions/\(bankObjects.definition)", key: "bank/read")
        #expect(definition.status == 200)
        #expect(try await bench.call("GET", "/v1/activity-types/Vault", key: "bank/read").status == 200)
        let bankSends = try await bench.sends(atLeast: 1).filter { $0.app == "bank" }
        #expect(bankSends.map(\.id) == [bankObjects.send], "no send and no cancel came from the shop's key")
    }
}
