import Catalog
import CatalogRecords
import Cryptography
import Foundation
import HTTPServer
import JSON
import RecordFormat
import Telemetry
import Testing
import TokenSealing

@testable import Gateway

/// The decisions about webhook endpoints, without Kafka.
struct WebhookCallsTests {
    private var fixture = DeciderFixture()

    init() throws { fixture.keys = try makeKeys() }

    private func context(_ body: String = "", name: String = "billing") -> RequestContext {
        var context = fixture.context(body, as: .admin)
        context.parameters = ["name": name]
        return context
    }

    /// Puts an endpoint: applies the change to the catalog, and returns the answer.
    private mutating func put(_ body: String, name: String = "billing") throws -> [String: Any] {
        guard
            case .changeCatalog(let change, let response) = try WebhookCalls.put(
                in: context(body, name: name))
        else { return [:] }
        #expect(fixture.catalog.apply(key: change.key, value: change.value, with: JSONReader()) == .changed)
        return try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    /// Returns the problems of a call, each as `status field code`. A problem of the whole request has an empty field.
    private func problems(_ call: () throws -> RequestDecision) -> [String] {
        do {
            _ = try call()
            return []
        } catch let error as RefusedRequest {
            return error.problems.map { "\(error.status) \($0.field) \($0.code)" }
        } catch { return ["\(error)"] }
    }

    @Test mutating func `the secret is shown once, and a change keeps it and enables the endpoint`() throws {
        let created = try put(#"{"url":"https://example.com/hooks","events":["token.dead"]}"#)
        let secret = try #require(created["secret"] as? String)
        #expect(secret.hasPrefix("whsec_") && Data(base64Encoded: String(secret.dropFirst(6)))?.count == 32)
        #expect(created["events"] as? [String] == ["token.dead"])
        var endpoint = try #require(fixture.catalog.webhooks(of: "shop")["billing"])
        let opened = try WebhookSecret.open(
            endpoint.secrets[0], of: endpoint, with: TokenSeal(keys: fixture.keys))
        #expect(WebhookSecret(key: opened.withBytes { Array($0) }).text == secret)
        endpoint.disabling = .init(at: 5, reason: "gone")
        _ = fixture.catalog.apply(key: endpoint.key, value: endpoint.encoded(), with: JSONReader())
        let changed = try put(#"{"url":"https://example.com/other"}"#)
        #expect(changed["secret"] == nil && changed["disabledAt"] == nil)
        let stored = try #require(fixture.catalog.webhooks(of: "shop")["billing"])
        #expect(stored.secrets == endpoint.secrets && stored.types == WebhookEventType.allCases)
        #expect(!String(decoding: stored.encoded(), as: UTF8.self).contains(secret))
    }

    @Test mutating func `a wrong body, a wrong name and too many endpoints are refused`() throws {
        func refused(_ body: String, name: String = "billing") -> [String] {
            problems { try WebhookCalls.put(in: context(body, name: name)) }
        }
        #expect(refused(#"{"url":"http://example.com"}"#) == ["422 url invalid"])
        #expect(refused(#"{"url":"https://me:secret@example.com"}"#) == ["422 url invalid"])
        #expect(refused(#"{"url":"https://example.com","events":[]}"#) == ["422 events invalid"])
        #expect(refused(#"{"url":"https://example.com","event":1}"#) == ["422 event unknown_field"])
        #expect(refused(#"{"url":"https://example.com"}"#, name: "a/b") == ["422 name invalid"])
        for number in 0..<WebhookEndpoint.countPerAppMax {
            _ = try put(#"{"url":"https://example.com"}"#, name: "e-\(number)")
        }
        #expect(refused(#"{"url":"https://example.com"}"#) == ["409  too_many"])
        fixture.catalog = CatalogSnapshot()
        fixture.keys = nil
        #expect(refused(#"{"url":"https://example.com"}"#) == ["409  no_sealing_keys"])
    }

    @Test mutating func `an endpoint is listed, shown and deleted, and an unknown one is not`() throws {
        #expect(problems { try WebhookCalls.show(in: context()) } == ["404 name webhook_unknown"])
        _ = try put(#"{"url":"https://example.com"}"#)
        guard case .answer(let list) = WebhookCalls.list(in: context()),
            case .answer(let shown) = try WebhookCalls.show(in: context()),
            case .changeCatalog(let change, let deleted) = try WebhookCalls.delete(in: context())
        else {
            Issue.record("the calls are not decided")
            return
        }
        #expect(
            String(decoding: list.body, as: UTF8.self).contains(String(decoding: shown.body, as: UTF8.self)))
        #expect(!String(decoding: shown.body, as: UTF8.self).contains("secret\""))
        #expect(deleted.status == 204 && change.value == nil)
        _ = fixture.catalog.apply(key: change.key, value: nil, with: JSONReader())
        #expect(fixture.catalog.webhooks(of: "shop").isEmpty)
    }
}
