import CatalogRecords
import Foundation
import ProcessTesting
import Testing

@testable import Gateway

/// The calls about API keys over HTTP.
struct KeysServiceTests {
    private static func object(_ answer: HTTPAnswer) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any])
    }

    @Test func `a key that was created works at once, and a revoked one does not`() async throws {
        let bench = try await GatewayBench.forSends()
        let created = try await bench.call(
            "POST", "/v1/keys", body: #"{"role":"read","name":"dashboard"}"#, key: "shop/admin")
        #expect(created.status == 201)
        let key = try Self.object(created)
        let (text, id) = try (
            #require(key["key"] as? String), #require(key["id"] as? String)
        )
        #expect(try await bench.call("GET", "/v1/segments", key: text).status == 200)
        #expect(try await bench.call("PUT", "/v1/segments/x", body: #"{"tag":"a"}"#, key: text).status == 403)
        for role in ["report", "read", "send"] {
            let refused = try await bench.call("GET", "/v1/keys", key: "shop/\(role)")
            #expect(refused.status == 403, "\(role)")
        }
        let foreign = try await bench.call("GET", "/v1/keys", key: "bank/admin")
        #expect(foreign.status == 200 && !foreign.body.contains(id))
        #expect(try await bench.call("DELETE", "/v1/keys/\(id)", key: "bank/admin").status == 404)
        #expect(try await bench.call("DELETE", "/v1/keys/\(id)", key: "shop/admin").status == 200)
        let revoked = try await bench.call("GET", "/v1/segments", key: text)
        #expect(revoked.status == 401 && revoked.code == "key_revoked")
        let app = try await bench.call("GET", "/v1/app", key: "shop/read")
        #expect(app.status == 200 && app.body.contains(#""bundleId":"com.example.shop""#))
        #expect(try await bench.call("PUT", "/v1/app", body: app.body, key: "shop/send").status == 403)
        #expect(try await bench.call("PUT", "/v1/app", body: app.body, key: "shop/admin").status == 200)
        await bench.stop()
        // Each change is in the audit with its author, and no record has the text of the key.
        let admin = try #require(bench.keyRecords["shop/admin"])
        // Before, the bench has written two apps, their keys and a type of each, and the gateway has written its start.
        let writtenBefore = 2 + bench.keyRecords.count + 2 + 1
        let entries = try await bench.audit(atLeast: writtenBefore + 3)
        let actions = entries.filter { $0.author == admin.id }.map { "\($0.action) \($0.subject ?? "")" }
        #expect(Set(actions) == ["key.create \(id)", "key.revoke \(id)", "app.update "])
        #expect(try !bench.logged().contains(text))
    }

    @Test func `the examples of the page about the gateway are accepted`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let examples = PageExamples(in: try Repository.text(of: "deploy/book/gateway.md"))
        #expect(examples.count == 1)
        #expect(try await examples.run(on: bench) == ["201", "200", "200"])
        await bench.stop()
    }
}
